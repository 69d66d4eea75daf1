// SPDX-License-Identifier: BSD-3-Clause
#include "hal/vendor_library.h"

#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <climits>

namespace hal {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;
constexpr int kFreshNameAttempts = 64;

bool owned_by_us(const struct stat& facts) {
  return facts.st_uid == 0 || facts.st_uid == ::geteuid();
}

bool others_write(const struct stat& facts) { return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

/// True if only root and the effective user can rename an entry of a directory on the absolute,
/// link-free path. A sticky directory is fine: an entry there belongs to its own owner, and that
/// is checked one step later.
bool only_we_rename(const std::string& path) {
  UniqueFd directory(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t start = 1;;) {
    struct stat facts {};
    if (!directory || ::fstat(directory.get(), &facts) != 0 || !owned_by_us(facts) ||
        (others_write(facts) && (facts.st_mode & S_ISVTX) == 0)) {
      return false;
    }
    const std::size_t end = path.find('/', start);
    if (end == std::string::npos) return true;
    const std::string name = path.substr(start, end - start);
    directory = UniqueFd(
        ::openat(directory.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    start = end + 1;
  }
}

Result<> check_file(int fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return fail_errno(errno, path);
  if (!S_ISREG(facts.st_mode)) {
    return fail(Errc::no_permission, EACCES, path + ": not a regular file");
  }
  if (!owned_by_us(facts)) {
    return fail(Errc::no_permission, EPERM,
                path + ": owned by user " + std::to_string(facts.st_uid) +
                    ", must be root's or the daemon user's: chown it");
  }
  if (others_write(facts)) {
    return fail(Errc::no_permission, EPERM,
                path + ": writable by others than its owner: chmod go-w it");
  }
  return {};
}

Failure absent(const std::string& path) {
  Failure failure = fail_errno(errno, "library " + path);
  failure.value().kind = Errc::no_device;
  return failure;
}

Failure not_loadable(const std::string& path) {
  const char* reason = ::dlerror();
  return fail(Errc::no_device, ELIBBAD,
              "library " + path + " cannot be loaded: " + (reason != nullptr ? reason : "unknown"));
}

/// The loader takes a name that it knows for the same library, and descriptor numbers come again:
/// finds a number whose name no loaded library has. `file` stays open while the library is.
Result<void*> load_by_descriptor(UniqueFd& file, const std::string& path) {
  for (int attempt = 0; attempt < kFreshNameAttempts; ++attempt) {
    const std::string name = "/proc/self/fd/" + std::to_string(file.get());
    void* const known = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (known == nullptr) {
      void* const handle = ::dlopen(name.c_str(), kMode);
      if (handle == nullptr) return not_loadable(path);
      return handle;
    }
    link_map* map = nullptr;
    // Known under another name: the loader recognized the very same file.
    if (::dlinfo(known, RTLD_DI_LINKMAP, &map) == 0 && name != map->l_name) return known;
    ::dlclose(known);
    UniqueFd next(::fcntl(file.get(), F_DUPFD_CLOEXEC, file.get() + 1));
    if (!next) return fail_errno(errno, path);
    file = std::move(next);
  }
  return fail(Errc::no_device, ELIBBAD, "library " + path + ": no free name to load it under");
}

}  // namespace

void FileDescriptorTraits::close(Type fd) noexcept { ::close(fd); }

void VendorLibrary::Closer::operator()(void* handle) const noexcept { ::dlclose(handle); }

Result<VendorLibrary> VendorLibrary::open(const std::string& path) {
  VendorLibrary library;
  library.path_ = path;
  if (!path.starts_with('/')) {
    if (path.empty() || path.find('/') != std::string::npos) {
      return fail(Errc::invalid_argument, EINVAL,
                  "library '" + path + "': an absolute path or a plain file name is needed");
    }
    library.handle_.reset(::dlopen(path.c_str(), kMode));
    if (!library.handle_) return not_loadable(path);
    return library;
  }
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (!resolved) return absent(path);
  UniqueFd file(::open(resolved.get(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return absent(path);
  if (auto checked = check_file(file.get(), path); !checked) return propagate(std::move(checked));
  if (only_we_rename(resolved.get())) {
    library.handle_.reset(::dlopen(resolved.get(), kMode));
    if (!library.handle_) return not_loadable(path);
    return library;
  }
  auto handle = load_by_descriptor(file, path);
  if (!handle) return propagate(std::move(handle));
  library.handle_.reset(*handle);
  library.file_ = std::move(file);
  return library;
}

Result<> VendorLibrary::resolve(std::initializer_list<VendorSymbol*> symbols) const {
  if (!is_open()) return fail(Errc::no_device, ENODEV, "no vendor library is open");
  std::vector<void*> addresses;
  addresses.reserve(symbols.size());
  std::string missing;
  for (const VendorSymbol* symbol : symbols) {
    addresses.push_back(::dlsym(handle_.get(), symbol->name()));
    if (addresses.back() == nullptr) missing += std::string(" ") + symbol->name();
  }
  if (!missing.empty()) {
    return fail(Errc::no_device, ENOSYS,
                "library " + path_ + " lacks" + missing + ": install a version that has them");
  }
  auto address = addresses.begin();
  for (VendorSymbol* symbol : symbols) symbol->set(*address++);
  return {};
}

}  // namespace hal
