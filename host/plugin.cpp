// SPDX-License-Identifier: BSD-3-Clause
#include "host/plugin.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#include <climits>

namespace hal::host {
namespace {

constexpr std::size_t kMaxType = 64;  // what a classic daemon keeps of plugin_type
constexpr std::size_t kMaxName = 256;

bool valid_minor(std::string_view minor) {
  return !minor.empty() && minor.size() <= kMaxType &&
         std::all_of(minor.begin(), minor.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '+';
         });
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

/// The symbol, if `library` itself defines it: dlsym also answers from the library's dependencies.
void* own_symbol(void* library, const char* name) noexcept {
  void* const address = ::dlsym(library, name);
  if (address == nullptr) return nullptr;
  struct link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  struct dl_find_object found {};
  if (::_dl_find_object(address, &found) != 0) return nullptr;
  return found.dlfo_link_map == map ? address : nullptr;
}

struct LibraryCloser {
  void operator()(void* library) const noexcept { ::dlclose(library); }
};
using Library = std::unique_ptr<void, LibraryCloser>;

std::string loader_reason() {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "the loader gives no reason";
}

/// Loads the file that was checked. Its path can be changed by root and the effective user alone,
/// so the loader, which opens by path, meets the same file; the comparison afterwards catches an
/// upgrade in between. (/proc/self/fd would name libraries by a descriptor number, which the
/// loader takes for the same library when the number is used again.)
Result<Library> load_checked(const std::string& file, const SafeDirectory& directory,
                             const std::string& name, const UniqueFd& checked) {
  ::dlerror();
  Library library(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    return fail(Errc::unsupported, ELIBACC, file + ": does not load: " + loader_reason());
  }
  struct stat before {};
  struct stat after {};
  if (::fstat(checked.get(), &before) != 0 ||
      ::fstatat(directory.fd.get(), name.c_str(), &after, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_errno(errno, file);
  }
  if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) {
    return fail(Errc::busy, EAGAIN, file + ": was replaced while it was opened; try again");
  }
  return library;
}

std::optional<std::string> text_symbol(void* library, const char* name, std::size_t limit) {
  const auto* const text = static_cast<const char*>(own_symbol(library, name));
  if (text == nullptr) return std::nullopt;
  return std::string(text, ::strnlen(text, limit));
}

bool accepted(const FamilyTable& table, std::uint32_t version) noexcept {
  return std::any_of(table.versions.begin(), table.versions.end(), [&](const VersionRange& range) {
    return version >= range.first && version <= range.last;
  });
}

}  // namespace

PluginPath::PluginPath(std::string_view colon_list) {
  for (std::size_t at = 0; at <= colon_list.size();) {
    const std::size_t end = std::min(colon_list.find(':', at), colon_list.size());
    if (end > at) directories_.emplace_back(colon_list.substr(at, end - at));
    at = end + 1;
  }
}

Result<const SafeDirectory*> PluginPath::open(std::size_t index) const {
  opened_.resize(directories_.size());
  auto& opened = opened_[index];
  if (!opened) {
    auto directory = open_safe_directory(directories_[index]);
    if (!directory) return propagate(std::move(directory));
    opened.emplace(std::move(*directory));
  }
  return &*opened;
}

std::string PluginPath::text() const { return join(directories_, ":"); }

std::vector<std::string> PluginPath::minors(std::string_view major) const {
  struct DirCloser {
    void operator()(DIR* dir) const noexcept { ::closedir(dir); }
  };
  const std::string prefix = std::string(major) + "_";
  std::vector<std::string> found;
  for (const std::string& directory : directories_) {
    const std::unique_ptr<DIR, DirCloser> dir(::opendir(directory.c_str()));
    if (!dir) continue;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string_view name = entry->d_name;
      if (!name.starts_with(prefix) || !name.ends_with(".so")) continue;
      const std::string_view minor = name.substr(prefix.size(), name.size() - prefix.size() - 3);
      if (valid_minor(minor)) found.emplace_back(minor);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// The steps of opening one plugin.
class PluginLoader {
 public:
  PluginLoader(const FamilyTable& table, void* functions, Trace* trace)
      : table_(table), functions_(static_cast<std::byte*>(functions)), trace_(trace) {}

  Result<Plugin> find(std::string_view type, const PluginPath& path) {
    const std::string name =
        std::string(table_.major) + "_" + std::string(type.substr(table_.major.size() + 1)) + ".so";
    std::string passed_over;
    for (std::size_t entry = 0; entry < path.directories().size(); ++entry) {
      auto directory = path.open(entry);
      if (!directory && directory.error().kind == Errc::not_found) continue;
      if (!directory) return with_context(Result<Plugin>(propagate(std::move(directory))), type);
      auto file = open_safe_file(**directory, name);
      if (!file && file.error().kind == Errc::not_found) continue;
      if (!file) return with_context(Result<Plugin>(propagate(std::move(file))), type);
      auto plugin = load(**directory, name, *file, type);
      if (plugin || !other_type_) return plugin;
      passed_over += "; passed over " + plugin.error().detail;
    }
    return unknown(type, path, passed_over);
  }

  /// `wanted` empty: any type of the family.
  Result<Plugin> load(const SafeDirectory& directory, const std::string& name, const UniqueFd& fd,
                      std::string_view wanted) {
    other_type_ = false;
    Plugin plugin;
    plugin.file_ = (directory.path == "/" ? "" : directory.path) + "/" + name;
    auto library = load_checked(plugin.file_, directory, name, fd);
    if (!library) return propagate(std::move(library));
    if (auto done = identify(plugin, library->get(), wanted); !done) {
      return propagate(std::move(done));
    }
    if (auto done = resolve(plugin, library->get()); !done) return propagate(std::move(done));
    if (auto done = initialise(plugin, library->get()); !done) return propagate(std::move(done));
    plugin.trace_ = trace_;
    plugin.library_ = library->release();
    return plugin;
  }

 private:
  Result<> identify(Plugin& plugin, void* library, std::string_view wanted) {
    auto type = text_symbol(library, "plugin_type", kMaxType);
    auto name = text_symbol(library, "plugin_name", kMaxName);
    if (!type || !name) {
      return fail(Errc::unsupported, ENOSYS,
                  plugin.file_ + ": has no " + (type ? "plugin_name" : "plugin_type") +
                      "; it is not a plugin of this API");
    }
    plugin.type_ = std::move(*type);
    plugin.name_ = std::move(*name);
    const bool of_family = plugin.type_.starts_with(std::string(table_.major) + "/");
    if (!of_family || (!wanted.empty() && plugin.type_ != wanted)) {
      other_type_ = true;
      return fail(Errc::unsupported, ENOSYS,
                  plugin.file_ + ": its plugin_type is \"" + plugin.type_ + "\", not \"" +
                      (wanted.empty() ? std::string(table_.major) + "/..." : std::string(wanted)) +
                      "\"");
    }
    return check_version(plugin, library);
  }

  Result<> check_version(Plugin& plugin, void* library) {
    const void* const address = own_symbol(library, "plugin_version");
    if (address == nullptr) {
      if (!table_.version_required) return {};
      return fail(Errc::unsupported, ENOSYS,
                  plugin.file_ + ": has no plugin_version, which " + std::string(table_.major) +
                      " plugins must have; rebuild it for the classic API");
    }
    std::uint32_t version = 0;
    std::memcpy(&version, address, sizeof version);
    plugin.version_ = version;
    if (accepted(table_, version)) return {};
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), "0x%06x", version);
    return fail(Errc::unsupported, ENOSYS,
                plugin.file_ + ": plugin_version " + text.data() +
                    " is of a release whose calls take other arguments; take the build for the "
                    "classic API");
  }

  Result<> resolve(const Plugin& plugin, void* library) {
    std::vector<std::string> missing;
    std::memset(functions_, 0, table_.functions_size);
    for (const SymbolSlot& slot : table_.required) {
      void* const address = own_symbol(library, slot.symbol);
      if (address == nullptr) missing.emplace_back(slot.symbol);
      std::memcpy(functions_ + slot.offset, &address, sizeof address);
    }
    if (!missing.empty()) {
      return fail(Errc::unsupported, ENOSYS,
                  plugin.file_ + ": incomplete, " + std::to_string(missing.size()) + " of " +
                      std::to_string(table_.required.size()) + " functions missing: " +
                      join(missing, ", ") + "; rebuild it for the classic API");
    }
    for (const SymbolSlot& slot : table_.optional) {
      void* const address = own_symbol(library, slot.symbol);
      std::memcpy(functions_ + slot.offset, &address, sizeof address);
    }
    return {};
  }

  Result<> initialise(const Plugin& plugin, void* library) {
    auto* const init = reinterpret_cast<int (*)()>(own_symbol(library, "init"));
    if (init == nullptr) return {};
    const std::string label = "init " + plugin.type_;
    errno = 0;
    const int result = trace_ != nullptr ? trace_->call(label.c_str(), init) : init();
    const int error = errno;
    if (result == 0) return {};
    const std::string what =
        plugin.type_ + " (" + plugin.file_ + "): init() returned " + std::to_string(result);
    if (error == 0) return fail(Errc::vendor, EIO, what + " and set no errno");
    return fail_errno(error, what);
  }

  [[nodiscard]] Failure unknown(std::string_view type, const PluginPath& path,
                                const std::string& passed_over) const {
    const std::vector<std::string> minors = path.minors(table_.major);
    std::string detail = std::string(type) + ": no such plugin; ";
    detail += minors.empty() ? "there is no " + std::string(table_.major) + " plugin at all"
                             : "there are " + join(minors, ", ");
    detail += " in " + (path.directories().empty() ? "no directory" : path.text()) + passed_over;
    detail += "; set " + std::string(table_.config_key) + " or PluginDir";
    return fail(Errc::not_found, ENOENT, std::move(detail));
  }

  const FamilyTable& table_;
  std::byte* functions_;
  Trace* trace_;
  bool other_type_ = false;
};

Result<Plugin> Plugin::open(Family family, std::string_view type, const PluginPath& path,
                            void* functions, Trace* trace) {
  const FamilyTable& table = table_of(family);
  const std::string major = std::string(table.major) + "/";
  if (!type.starts_with(major) || !valid_minor(type.substr(major.size()))) {
    return fail(Errc::invalid_argument, EINVAL,
                "\"" + std::string(type.substr(0, 2 * kMaxType)) + "\": not a " + major +
                    "... type; set " + std::string(table.config_key));
  }
  return PluginLoader(table, functions, trace).find(type, path);
}

Result<Plugin> Plugin::open_file(Family family, const std::string& file, void* functions,
                                 Trace* trace) {
  auto absolute = make_absolute(file);
  if (!absolute) return propagate(std::move(absolute));
  const std::size_t slash = absolute->rfind('/');
  auto directory = open_safe_directory(slash == 0 ? "/" : absolute->substr(0, slash));
  if (!directory) return propagate(std::move(directory));
  const std::string name = absolute->substr(slash + 1);
  auto fd = open_safe_file(*directory, name);
  if (!fd) return propagate(std::move(fd));
  return PluginLoader(table_of(family), functions, trace).load(*directory, name, *fd, {});
}

void Plugin::close() noexcept {
  if (library_ == nullptr) return;
  // Declared void or int over the years; the result was never used.
  if (auto* const fini = reinterpret_cast<void (*)()>(own_symbol(library_, "fini"))) {
    std::array<char, kMaxType + 8> label{};
    (void)std::snprintf(label.data(), label.size(), "fini %s", type_.c_str());
    trace_ != nullptr ? trace_->call(label.data(), fini) : fini();
  }
  ::dlclose(std::exchange(library_, nullptr));
}

void Plugin::abandon() noexcept { library_ = nullptr; }

Plugin::Plugin(Plugin&& other) noexcept { *this = std::move(other); }

Plugin& Plugin::operator=(Plugin&& other) noexcept {
  if (this == &other) return *this;
  close();
  library_ = std::exchange(other.library_, nullptr);
  trace_ = std::exchange(other.trace_, nullptr);
  type_ = std::move(other.type_);
  name_ = std::move(other.name_);
  file_ = std::move(other.file_);
  version_ = other.version_;
  return *this;
}

}  // namespace hal::host
