// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/classic_records.h"

namespace hal::host {
namespace {

struct BlockHeader {
  std::int32_t magic;
  std::int32_t size;
};

constexpr std::int32_t kBlockMagic = 0x42;
constexpr std::uint32_t kBufMagic = 0x42554545;
constexpr std::size_t kMaxBlock = std::size_t{1} << 30;

BlockHeader* header_of(const void* block) noexcept {
  return static_cast<BlockHeader*>(const_cast<void*>(block)) - 1;
}

[[noreturn]] void out_of_memory() noexcept {
  (void)std::fputs("backplane: out of memory\n", stderr);
  std::abort();
}

}  // namespace

void* host_alloc(std::size_t size) {
  if (size > kMaxBlock) out_of_memory();
  auto* const header = static_cast<BlockHeader*>(std::calloc(1, sizeof(BlockHeader) + size));
  if (header == nullptr) out_of_memory();
  *header = {kBlockMagic, static_cast<std::int32_t>(size)};
  return header + 1;
}

void* host_realloc(void* block, std::size_t size) {
  if (block == nullptr) return host_alloc(size);
  if (size > kMaxBlock) out_of_memory();
  const std::size_t old = host_block_size(block);
  auto* const header =
      static_cast<BlockHeader*>(std::realloc(header_of(block), sizeof(BlockHeader) + size));
  if (header == nullptr) out_of_memory();
  header->size = static_cast<std::int32_t>(size);
  if (size > old) std::memset(reinterpret_cast<char*>(header + 1) + old, 0, size - old);
  return header + 1;
}

void host_free(void* block) noexcept {
  if (block == nullptr) return;
  if (!has_host_header(block)) {
    (void)std::fputs("backplane: a plugin handed back memory without the daemon's header\n",
                     stderr);
    std::abort();
  }
  *header_of(block) = {0, 0};  // a second free is found
  std::free(header_of(block));
}

char* host_copy(std::string_view text) {
  auto* const copy = static_cast<char*>(host_alloc(text.size() + 1));
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  return copy;
}

bool has_host_header(const void* block) noexcept {
  const BlockHeader* const header = header_of(block);
  return header->magic == kBlockMagic && header->size >= 0;
}

std::size_t host_block_size(const void* block) noexcept {
  return static_cast<std::size_t>(header_of(block)->size);
}

struct ClassicBuf::Record {
  std::uint32_t magic;
  char* head;
  std::uint32_t size;
  std::uint32_t processed;
};

void ClassicBuf::RecordDeleter::operator()(Record* record) const noexcept {
  static_assert(sizeof(Record) == 24 && offsetof(Record, head) == 8 &&
                offsetof(Record, size) == 16 && offsetof(Record, processed) == 20);
  host_free(record->head);
  host_free(record);
}

ClassicBuf::ClassicBuf(std::size_t size) : record_(static_cast<Record*>(host_alloc(24))) {
  record_->magic = kBufMagic;
  record_->head = static_cast<char*>(host_alloc(size));
  record_->size = static_cast<std::uint32_t>(size);
}

ClassicBuf::ClassicBuf(std::span<const std::byte> content) : ClassicBuf(content.size()) {
  if (!content.empty()) std::memcpy(record_->head, content.data(), content.size());
}

ClassicBuf::ClassicBuf(ClassicBuf&&) noexcept = default;
ClassicBuf& ClassicBuf::operator=(ClassicBuf&& other) noexcept = default;
ClassicBuf::~ClassicBuf() = default;

std::span<const std::byte> ClassicBuf::processed() const noexcept {
  return std::as_bytes(std::span(record_->head, std::min(record_->processed, record_->size)));
}

std::size_t ClassicBuf::processed_size() const noexcept { return record_->processed; }

std::size_t ClassicBuf::capacity() const noexcept { return record_->size; }

void ClassicBuf::rewind() noexcept { record_->processed = 0; }

bool ClassicBuf::intact() const noexcept {
  return record_->magic == kBufMagic && record_->head != nullptr &&
         record_->processed <= record_->size && has_host_header(record_->head) &&
         host_block_size(record_->head) >= record_->size;
}

ClassicEnv::ClassicEnv(std::span<const std::string> entries)
    : array_(static_cast<char**>(host_alloc((entries.size() + 1) * sizeof(char*)))) {
  std::transform(entries.begin(), entries.end(), array_,
                 [](const std::string& entry) { return host_copy(entry); });
}

ClassicEnv::ClassicEnv(ClassicEnv&& other) noexcept
    : array_(std::exchange(other.array_, nullptr)) {}

ClassicEnv& ClassicEnv::operator=(ClassicEnv&& other) noexcept {
  std::swap(array_, other.array_);
  return *this;
}

ClassicEnv::~ClassicEnv() {
  if (array_ == nullptr) return;
  for (char** entry = array_; *entry != nullptr; ++entry) host_free(*entry);
  host_free(array_);
}

void ClassicEnv::set(std::string_view name, std::string_view value) {
  std::string text;
  text.reserve(name.size() + 1 + value.size());
  text.append(name).append(1, '=').append(value);
  const auto prefix = std::string_view(text).substr(0, name.size() + 1);
  std::size_t count = 0;
  for (; array_[count] != nullptr; ++count) {
    if (std::string_view(array_[count]).starts_with(prefix)) {
      host_free(std::exchange(array_[count], host_copy(text)));
      return;
    }
  }
  const std::size_t needed = (count + 2) * sizeof(char*);
  if (host_block_size(array_) < needed) {
    array_ = static_cast<char**>(host_realloc(array_, needed + 16 * sizeof(char*)));
  }
  array_[count] = host_copy(text);
  array_[count + 1] = nullptr;
}

const char* ClassicEnv::get(std::string_view name) const noexcept {
  for (char** entry = array_; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      return *entry + name.size() + 1;
    }
  }
  return nullptr;
}

std::vector<std::string> ClassicEnv::entries() const {
  std::vector<std::string> list;
  for (char** entry = array_; *entry != nullptr; ++entry) list.emplace_back(*entry);
  return list;
}

}  // namespace hal::host
