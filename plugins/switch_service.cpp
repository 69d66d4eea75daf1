// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/switch_service.h"

#include <cerrno>

namespace hal::plugin {
namespace {

constexpr int kFirstOwnError = 3000;
constexpr int kLastOwnError = 3099;

}  // namespace

SwitchService::SwitchService(const HostSymbols& symbols, BoundBackend bound)
    : Service(symbols, std::move(bound)) {}

SwitchService::~SwitchService() {
  if (codec_ == nullptr) return;  // open() failed: nothing else was made
  const std::unique_ptr<InterconnectNode> step_node(step_node_.load());
  per_process_.get().node.reset();
  per_process_.get().candidates.reset();
  controller_.reset();
}

Result<> SwitchService::open() {
  if (auto mapped = per_process_.map(); !mapped) return mapped;
  auto codec = make_role(backend().make_credential_codec);
  if (!codec) return propagate(std::move(codec));
  codec_ = *std::move(codec);
  return {};
}

Result<std::unique_ptr<Service>> make_service(const HostSymbols& symbols, BoundBackend bound) {
  auto service = std::make_unique<SwitchService>(symbols, std::move(bound));
  if (auto opened = service->open(); !opened) return propagate(std::move(opened));
  return service;
}

Result<JobInfo*> SwitchService::copy(const JobInfo* source) {
  if (source == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "there is no credential to copy");
  }
  JobInfo* made = JobInfo::make();
  try {
    made->value.credential = source->value.credential;
  } catch (...) {
    JobInfo::destroy(made);
    throw;
  }
  return made;
}

void SwitchService::free(JobInfo* handle) {
  if (handle == nullptr) return;
  const std::unique_ptr<JobInfo> last_use(handle);
  if (handle->value.candidate) drop_candidate(handle);
  const auto grant = handle->value.grant;
  if (grant == nullptr || grant->owners.fetch_sub(1) > 1) return;
  if (frozen_.load()) {
    ledger_.remove(*grant);  // the saved file goes on naming it, for whoever reads that file
  } else if (auto released = release(*grant); !released) {
    report("free_jobinfo", released.error());
  }
}

std::span<const std::byte> SwitchService::encode(const JobInfo* handle) const {
  return codec_->encode(credential_of(handle));
}

Result<std::size_t> SwitchService::decode(JobInfo* handle, std::span<const std::byte> bytes) {
  if (handle == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "there is no credential to fill");
  }
  if (handle->value.grant != nullptr) {
    return fail(Errc::busy, EBUSY, "this credential owns a grant and cannot be overwritten");
  }
  ByteReader reader(bytes);
  auto credential = codec_->decode(reader);
  if (!credential) return propagate(std::move(credential));
  handle->value.credential = *std::move(credential);
  if (collecting_.load(std::memory_order_relaxed)) note_candidate(handle);
  return reader.offset();
}

Result<> SwitchService::query(const JobInfo* handle, int key, const void* out) const {
  if (handle == nullptr || out == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "no credential, or no place for the answer");
  }
  return fail(Errc::invalid_argument, EINVAL,
              "key " + std::to_string(key) + " is not defined: credentials of " +
                  std::string(backend().name) + " answer no questions");
}

std::string SwitchService::describe(const JobInfo* handle) const {
  return codec_->describe(credential_of(handle));
}

std::string SwitchService::describe_long(const JobInfo* handle) const {
  std::string text = codec_->describe_long(credential_of(handle));
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (handle != nullptr && handle->last_error() != 0) {
    text += "last error: " + std::to_string(handle->last_error()) + '\n';
  }
  return text;
}

const char* SwitchService::describe_error(int code) const noexcept {
  if (code < kFirstOwnError || code > kLastOwnError) return nullptr;
  return backend().describe_error != nullptr ? backend().describe_error(code) : nullptr;
}

Result<SwitchService::Candidates*> SwitchService::candidates() {
  return per_process_.get().candidates.get(
      []() -> Result<std::unique_ptr<Candidates>> { return std::make_unique<Candidates>(); });
}

void SwitchService::note_candidate(JobInfo* handle) {
  auto known = candidates();
  if (!known) return;  // cannot happen: making the set does not fail
  const std::lock_guard lock((*known)->mutex);
  (*known)->handles.insert(handle);
  handle->value.candidate = true;
}

void SwitchService::drop_candidate(JobInfo* handle) {
  Candidates* known = per_process_.get().candidates.peek();
  if (known == nullptr) return;  // noted by the parent of this process
  const std::lock_guard lock(known->mutex);
  known->handles.erase(handle);
}

std::vector<JobInfo*> SwitchService::take_candidates() {
  Candidates* known = per_process_.get().candidates.peek();
  if (known == nullptr) return {};
  const std::lock_guard lock(known->mutex);
  std::vector<JobInfo*> list(known->handles.begin(), known->handles.end());
  known->handles.clear();
  return list;
}

}  // namespace hal::plugin
