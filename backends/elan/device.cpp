// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/device.h"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <unistd.h>

#include "backends/elan/wire_words.h"

namespace hal::elan {
namespace {

template <class Native>
void fill(Native& native, const Credential& credential, const Capability& fields) {
  const auto wire = credential.wire();
  for (std::size_t i = 0; i < 4; ++i) native.key[i] = load_word(&wire[kKeyOffset + 4 * i]);
  native.version = static_cast<std::int32_t>(kCapabilityVersion);
  native.type = fields.type;
  native.low_context = static_cast<std::int32_t>(fields.low_context);
  native.high_context = static_cast<std::int32_t>(fields.high_context);
  native.my_context = -1;
  native.low_node = static_cast<std::int32_t>(fields.low_node);
  native.high_node = static_cast<std::int32_t>(fields.high_node);
  native.rail_mask = fields.rail_mask;
  const std::byte* bitmap = wire.data() + limits_of(fields.flavour).bitmap_offset;
  for (std::uint32_t& word : native.bitmap) {
    word = load_word(bitmap);
    bitmap += 4;
  }
}

Result<VendorLibrary> open_resolved(const std::string& path,
                                    std::initializer_list<VendorSymbol*> symbols) {
  auto opened = VendorLibrary::open(path);
  if (!opened) return opened;
  if (auto resolved = opened->resolve(symbols); !resolved) return propagate(std::move(resolved));
  return opened;
}

}  // namespace

Result<> load_library(VendorLibrary& library, const std::string& path,
                      std::initializer_list<VendorSymbol*> symbols) {
  if (library.is_open()) return {};
  auto opened = open_resolved(path, symbols);
  if (!opened) {
    Error error = std::move(opened).error();
    if (error.detail.find(path) == std::string::npos) error.detail.insert(0, path + ": ");
    return fail(error.kind, kElanControl, error.detail + " (vendor library of switch/elan)");
  }
  library = std::move(*opened);
  return {};
}

NativeCapability::NativeCapability(const Credential& credential, const Capability& fields)
    : native_{} {
  if (fields.flavour == Flavour::elan3) {
    native_.elan3 = {};
    fill(native_.elan3, credential, fields);
    native_.elan3.generation = fields.spare;
    native_.elan3.entries = static_cast<std::int32_t>(fields.entries);
  } else {
    fill(native_.elan, credential, fields);
    native_.elan.spare = fields.spare;
  }
}

NativeCapability::~NativeCapability() { wipe(std::as_writable_bytes(std::span(&native_, 1))); }

ControlHandle::ControlHandle(const ElanDevice& device, void* handle)
    : device_(&device), handle_(handle), pid_(::getpid()) {}

ControlHandle::~ControlHandle() {
  if (device_ != nullptr && pid_ == ::getpid()) device_->close(handle_);
}

Result<> ElanDevice::load() {
  if (flavour_ == Flavour::elan3) {
    return load_library(library_, path_, {&elan3_.open, &elan3_.create, &elan3_.close});
  }
  return load_library(library_, path_, {&ctrl_.open, &ctrl_.create_cap, &ctrl_.close});
}

void* ElanDevice::open(int rail) const {
  if (flavour_ == Flavour::elan3) {
    void* context = elan3_.open(rail);
    return reinterpret_cast<std::intptr_t>(context) == -1 ? nullptr : context;
  }
  void* handle = nullptr;
  return ctrl_.open(&handle) == 0 ? handle : nullptr;
}

void ElanDevice::close(void* handle) const noexcept {
  if (flavour_ == Flavour::elan3) {
    elan3_.close(handle);
  } else {
    ctrl_.close(handle);
  }
}

Result<ControlHandle> ElanDevice::create(NativeCapability& capability, const Capability& fields,
                                         const RetryLimit& limit, Clock& clock) const {
  errno = 0;
  void* opened = open(std::countr_zero(fields.rail_mask));
  if (opened == nullptr) {
    return fail(Errc::no_device, kElanControl,
                std::string("Elan control device cannot be opened: ") +
                    (errno != 0 ? std::strerror(errno) : "no reason given") +
                    ": is the Elan driver loaded?");
  }
  ControlHandle handle(*this, opened);
  auto created = retry_while_busy(limit, clock, [&]() -> Result<> {
    errno = 0;
    const int result = flavour_ == Flavour::elan3 ? elan3_.create(opened, capability.elan3())
                                                  : ctrl_.create_cap(opened, capability.elan());
    if (result >= 0) return {};
    // All refusals look like EINVAL. Ours was checked, so that another step has the contexts.
    const Errc kind = errno == EINVAL ? Errc::busy : Errc::vendor;
    return fail(kind, kElanCreate,
                std::string("Elan driver refuses the capability: ") + std::strerror(errno) +
                    (errno == EINVAL ? ": an earlier step may still hold these contexts" : ""));
  });
  if (created) return handle;
  if (created.error().kind == Errc::timed_out) created.error().kind = Errc::busy;
  return propagate(std::move(created));
}

}  // namespace hal::elan
