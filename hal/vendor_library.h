// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "hal/result.h"

namespace hal {

/// Base of VendorFn, so that a table can be filled through a list of pointers.
class VendorSymbol {
 public:
  explicit constexpr VendorSymbol(const char* name) : name_(name) {}
  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] bool loaded() const noexcept { return address_ != nullptr; }
  void set(void* address) noexcept { address_ = address; }

 protected:
  void* address_ = nullptr;

 private:
  const char* name_;
};

/// One function of a vendor library: a member of the backend's table that knows its symbol.
template <class Signature>
class VendorFn;

template <class R, class... Args>
class VendorFn<R(Args...)> : public VendorSymbol {
 public:
  using VendorSymbol::VendorSymbol;

  /// Calls the vendor; the table must have been loaded.
  R operator()(Args... args) const {
    return reinterpret_cast<R (*)(Args...)>(address_)(std::forward<Args>(args)...);
  }
};

/// Owner of a vendor's or the kernel's handle. Traits: `using Type`, `static Type invalid()`,
/// `static void close(Type) noexcept`.
template <class Traits>
class UniqueHandle {
 public:
  using Type = typename Traits::Type;

  UniqueHandle() noexcept : value_(Traits::invalid()) {}
  explicit UniqueHandle(Type value) noexcept : value_(value) {}
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  UniqueHandle(UniqueHandle&& other) noexcept
      : value_(std::exchange(other.value_, Traits::invalid())) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) reset(std::exchange(other.value_, Traits::invalid()));
    return *this;
  }
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Type get() const noexcept { return value_; }
  [[nodiscard]] bool valid() const noexcept { return value_ != Traits::invalid(); }
  explicit operator bool() const noexcept { return valid(); }
  [[nodiscard]] Type release() noexcept { return std::exchange(value_, Traits::invalid()); }
  void reset(Type value = Traits::invalid()) noexcept {
    if (valid()) Traits::close(value_);
    value_ = value;
  }

 private:
  Type value_;
};

struct FileDescriptorTraits {
  using Type = int;
  static Type invalid() noexcept { return -1; }
  static void close(Type fd) noexcept;
};

/// Owner of a file descriptor.
using UniqueFd = UniqueHandle<FileDescriptorTraits>;

/// An opened shared library; closed by the destructor.
class VendorLibrary {
 public:
  VendorLibrary() = default;

  /// Opens `path` with RTLD_NOW | RTLD_LOCAL. An absolute path must lead (through links or not) to
  /// a regular file that is owned by root or the effective user and writable by its owner only; a
  /// plain file name is left to the loader's search path. No environment variable is read here.
  ///
  /// What was checked is what is loaded: when nobody else can rename anything on the resolved path,
  /// that path is given to the loader, so that $ORIGIN and debuggers work; otherwise the checked
  /// file is loaded through its descriptor.
  /// @return no_device: absent or not loadable, with the loader's reason; no_permission: unsafe
  /// file; invalid_argument: neither an absolute path nor a plain file name.
  [[nodiscard]] static Result<VendorLibrary> open(const std::string& path);

  /// Fills every symbol, all or nothing.
  /// @return no_device: lists every missing symbol.
  [[nodiscard]] Result<> resolve(std::initializer_list<VendorSymbol*> symbols) const;

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Closer {
    void operator()(void* handle) const noexcept;
  };
  UniqueFd file_;  ///< open as long as the loader knows the library by this descriptor's name
  std::unique_ptr<void, Closer> handle_;
  std::string path_;
};

}  // namespace hal
