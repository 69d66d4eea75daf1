// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "backends/elan/capability.h"
#include "backends/elan/vendor_api.h"
#include "hal/retry.h"

namespace hal::elan {

/// Opens `path` and fills every symbol. @return no_device (3007): names the library and all missing
/// symbols.
[[nodiscard]] Result<> load_library(VendorLibrary& library, const std::string& path,
                                    std::initializer_list<VendorSymbol*> symbols);

/// A capability in the vendor's memory layout; wiped by the destructor because of its key.
class NativeCapability {
 public:
  NativeCapability(const Credential& credential, const Capability& fields);
  ~NativeCapability();
  NativeCapability(const NativeCapability&) = delete;
  NativeCapability& operator=(const NativeCapability&) = delete;

  [[nodiscard]] ElanCapability* elan() noexcept { return &native_.elan; }
  [[nodiscard]] Elan3Capability* elan3() noexcept { return &native_.elan3; }
  [[nodiscard]] void* address() noexcept { return &native_; }

 private:
  union {
    ElanCapability elan;
    Elan3Capability elan3;
  } native_;
};

class ElanDevice;

/// An open control device, which owns the capability that was created through it. A forked copy
/// leaves closing to the process that opened.
class ControlHandle {
 public:
  ControlHandle() = default;
  ControlHandle(const ElanDevice& device, void* handle);
  ControlHandle(ControlHandle&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), handle_(other.handle_), pid_(other.pid_) {}
  ControlHandle& operator=(ControlHandle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~ControlHandle();

  [[nodiscard]] void* get() const noexcept { return handle_; }

 private:
  const ElanDevice* device_ = nullptr;
  void* handle_ = nullptr;
  pid_t pid_ = 0;
};

/// The control library of one flavour, opened on first use.
class ElanDevice {
 public:
  ElanDevice(Flavour flavour, std::string library) : flavour_(flavour), path_(std::move(library)) {}

  [[nodiscard]] Result<> load();

  /// Opens the control device and creates the capability, once whatever the rail mask says: a
  /// second create would overlap the first. A refusal may come from a step that is still ending,
  /// so it is tried again until `limit`.
  /// @return no_device (3007): cannot be opened; busy or vendor (3008): refused.
  [[nodiscard]] Result<ControlHandle> create(NativeCapability& capability, const Capability& fields,
                                             const RetryLimit& limit, Clock& clock) const;

  void close(void* handle) const noexcept;

 private:
  [[nodiscard]] void* open(int rail) const;

  Flavour flavour_;
  std::string path_;
  VendorLibrary library_;
  ElanCtrlApi ctrl_;
  Elan3Api elan3_;
};

}  // namespace hal::elan
