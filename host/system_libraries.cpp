// SPDX-License-Identifier: BSD-3-Clause
#include "host/system_libraries.h"

#include <array>
#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>

#include "hal/vendor_library.h"

namespace hal::host {
namespace {

constexpr std::size_t kMaxLibraries = 256;

/// The directory that the C library of this process came from, then the usual ones.
std::vector<std::string> system_directories() {
  std::vector<std::string> directories;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&::gnu_get_libc_version), &info) != 0 &&
      info.dli_fname != nullptr) {
    const std::string_view file = info.dli_fname;
    if (file.front() == '/') directories.emplace_back(file.substr(0, file.rfind('/')));
  }
  for (const char* directory : {"/usr/lib64", "/lib64", "/usr/lib", "/lib", "/usr/local/lib"}) {
    directories.emplace_back(directory);
#if defined(__x86_64__)
    directories.push_back(std::string(directory) + "/x86_64-linux-gnu");
#elif defined(__aarch64__)
    directories.push_back(std::string(directory) + "/aarch64-linux-gnu");
#endif
  }
  return directories;
}

UniqueFd open_library(const std::vector<std::string>& directories, const std::string& name) {
  if (name.find('/') != std::string::npos) return UniqueFd(-1);
  for (const std::string& directory : directories) {
    UniqueFd fd(::open((directory + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd) return fd;
  }
  return UniqueFd(-1);
}

}  // namespace

SystemLibraries::SystemLibraries() : directories_(system_directories()) {}

const SystemLibraries::Library& SystemLibraries::find(const std::string& soname) {
  const auto [at, fresh] = known_.try_emplace(soname);
  Library& library = at->second;
  if (!fresh) return library;
  const UniqueFd fd = open_library(directories_, soname);
  if (!fd) return library;
  auto symbols = ElfSymbols::read(fd.get());
  if (!symbols) return library;
  library.found = true;
  library.needed = symbols->needed();
  for (const ElfSymbol& symbol : symbols->symbols()) {
    if (symbol.defined) library.defined.insert(symbol.name);
  }
  return library;
}

std::vector<std::string> SystemLibraries::closure(const ElfSymbols& object) {
  std::vector<std::string> names = object.needed();
  std::unordered_set<std::string> seen(names.begin(), names.end());
  for (std::size_t i = 0; i < names.size() && i < kMaxLibraries; ++i) {
    for (const std::string& next : find(names[i]).needed) {
      if (seen.insert(next).second) names.push_back(next);
    }
  }
  return names;
}

}  // namespace hal::host
