// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/error_service.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <unistd.h>

#include "backends/elan/device.h"

namespace hal::elan {
namespace {

constexpr std::chrono::seconds kVerdictLimit{30};
constexpr time_t kJoinSeconds = 5;

}  // namespace

/// Shared with the thread, which may outlive a start that gave up.
struct ErrorService::Verdict {
  const NetErrorApi* api;
  bool enlist;
  std::shared_ptr<Verdict> self;  ///< the thread's own reference, taken over at its start
  std::mutex mutex;
  std::condition_variable changed;
  bool decided = false;
  int error = 0;
};

ErrorService::~ErrorService() {
  if (stop()) return;
  // The thread runs the library's code, so that this must stay mapped.
  static_cast<void>(std::make_unique<VendorLibrary>(std::move(library_)).release());
}

void* ErrorService::serve(void* argument) {
  int former = 0;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
  const NetErrorApi* api = nullptr;
  int error = 0;
  {
    const std::shared_ptr<Verdict> verdict = std::move(static_cast<Verdict*>(argument)->self);
    api = verdict->api;
    errno = 0;
    if (api->init(0) == 0 || (verdict->enlist && api->enlist() == 0)) {
      error = errno != 0 ? errno : EIO;
    }
    const std::scoped_lock lock(verdict->mutex);
    verdict->error = error;
    verdict->decided = true;
    verdict->changed.notify_all();
  }
  if (error != 0) return nullptr;
  ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &former);
  api->run();
  return nullptr;
}

Result<> ErrorService::load_names(const ElanHosts& hosts) const {
  for (int id = 0; id <= hosts.max_id(); ++id) {
    auto host = hosts.host_of(HostType::eip, static_cast<std::uint32_t>(id));
    if (host && api_.load(id, host->data()) < 0) {
      return fail_errno(errno, "elan3_load_neterr_svc of Elan id " + std::to_string(id));
    }
  }
  return {};
}

Result<> ErrorService::start(const ElanHosts& hosts) {
  if (verdict_ && pid_ == ::getpid()) return {};
  auto loaded = load_library(library_, path_, {&api_.init, &api_.enlist, &api_.run, &api_.load});
  if (!loaded) return loaded;
  if (auto names = load_names(hosts); !names) return names;

  auto verdict = std::make_shared<Verdict>();
  verdict->api = &api_;
  verdict->enlist = enlisted_ != ::getpid();
  verdict->self = verdict;
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);  // signals are the daemon's, not the thread's
  const int created = ::pthread_create(&thread_, nullptr, serve, verdict.get());
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (created != 0) {
    verdict->self.reset();
    return fail_errno(created, "thread of the Elan3 error service");
  }
  pid_ = ::getpid();
  verdict_ = verdict;

  std::unique_lock lock(verdict->mutex);
  if (!verdict->changed.wait_for(lock, kVerdictLimit, [&] { return verdict->decided; })) {
    return fail(Errc::timed_out, ETIMEDOUT, "Elan3 error service does not answer");
  }
  const int error = verdict->error;
  lock.unlock();
  if (error == 0) {
    enlisted_ = pid_;
    return {};
  }
  ::pthread_join(thread_, nullptr);
  verdict_.reset();
  if (error == EADDRINUSE) return {};
  return fail(Errc::vendor, error,
              std::string("Elan3 error service refused: ") + std::strerror(error));
}

Result<> ErrorService::stop() {
  if (!verdict_) return {};
  if (pid_ == ::getpid()) {
    timespec deadline{};
    ::clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += kJoinSeconds;
    ::pthread_cancel(thread_);
    if (::pthread_clockjoin_np(thread_, nullptr, CLOCK_MONOTONIC, &deadline) != 0) {
      return fail(Errc::timed_out, ETIMEDOUT, "thread of the Elan3 error service does not end");
    }
  }
  verdict_.reset();
  return {};
}

}  // namespace hal::elan
