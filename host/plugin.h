// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/result.h"
#include "host/families.h"
#include "host/safe_path.h"
#include "host/trace.h"

namespace hal::host {

/// The directories of a PluginDir value in their order.
class PluginPath {
 public:
  /// `colon_list` holds absolute directories; missing ones are kept for the messages.
  explicit PluginPath(std::string_view colon_list);

  [[nodiscard]] const std::vector<std::string>& directories() const noexcept {
    return directories_;
  }

  /// The directories joined for a message.
  [[nodiscard]] std::string text() const;

  /// Minor names of the files `<major>_*.so` in any of the directories, sorted; reads names only.
  [[nodiscard]] std::vector<std::string> minors(std::string_view major) const;

  /// The directory at `index`, checked as open_safe_directory does. One that was found safe stays
  /// open and answers again: nobody but its owner and root can have put another in its place.
  [[nodiscard]] Result<const SafeDirectory*> open(std::size_t index) const;

 private:
  std::vector<std::string> directories_;
  mutable std::vector<std::optional<SafeDirectory>> opened_;  ///< parallel to directories_
};

/// One opened classic plugin: file checked, identity and symbols checked, init() done. Closing
/// calls fini() and unloads it.
class Plugin {
 public:
  Plugin() = default;

  /// Finds `<major>_<minor>.so` for the wanted `type` ("switch/elan"); the first directory that has
  /// it decides, except that a file of another plugin_type is passed over. Owner and mode of path
  /// and file are checked before any of its code runs. Then: RTLD_NOW | RTLD_LOCAL, identity,
  /// version, all required symbols, init().
  /// `functions` is the family's function struct, of table_of(family).functions_size bytes.
  /// @return invalid_argument: `type` is not of this family; not_found: lists the minors that exist
  /// and where was searched; no_permission: unsafe path; unsupported: identity, version or symbols
  /// (all missing ones are named); kind of errno: init() failed.
  [[nodiscard]] static Result<Plugin> open(Family family, std::string_view type,
                                           const PluginPath& path, void* functions,
                                           Trace* trace = nullptr);

  /// The same for one file, absolute or relative to the working directory, of any type of the
  /// family.
  [[nodiscard]] static Result<Plugin> open_file(Family family, const std::string& file,
                                                void* functions, Trace* trace = nullptr);

  [[nodiscard]] bool is_open() const noexcept { return library_ != nullptr; }
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::optional<std::uint32_t> version() const noexcept { return version_; }

  /// Calls fini() and unloads; safe to call twice. The destructor does the same.
  void close() noexcept;

  /// Gives the plugin up without fini(), as a daemon's child process that ends does.
  void abandon() noexcept;

  Plugin(Plugin&& other) noexcept;
  Plugin& operator=(Plugin&& other) noexcept;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { close(); }

 private:
  friend class PluginLoader;

  void* library_ = nullptr;
  Trace* trace_ = nullptr;
  std::string type_;
  std::string name_;
  std::string file_;
  std::optional<std::uint32_t> version_;
};

/// A plugin together with its typed functions: `proctrack->create(record)`.
template <class Functions>
class FamilyPlugin {
 public:
  FamilyPlugin() = default;

  /// As Plugin::open.
  [[nodiscard]] static Result<FamilyPlugin> open(std::string_view type, const PluginPath& path,
                                                 Trace* trace = nullptr) {
    FamilyPlugin opened;
    auto plugin = Plugin::open(Functions::kFamily, type, path, &opened.functions_, trace);
    if (!plugin) return propagate(std::move(plugin));
    opened.plugin_ = std::move(*plugin);
    return opened;
  }

  [[nodiscard]] const Functions* operator->() const noexcept { return &functions_; }
  [[nodiscard]] const Plugin& plugin() const noexcept { return plugin_; }
  [[nodiscard]] bool is_open() const noexcept { return plugin_.is_open(); }
  void close() noexcept { plugin_.close(); }
  void abandon() noexcept { plugin_.abandon(); }

 private:
  Plugin plugin_;
  Functions functions_{};
};

using SwitchPlugin = FamilyPlugin<SwitchFunctions>;
using ProctrackPlugin = FamilyPlugin<ProctrackFunctions>;
using JobContainerPlugin = FamilyPlugin<JobContainerFunctions>;
using CoreSpecPlugin = FamilyPlugin<CoreSpecFunctions>;
using JobAcctPlugin = FamilyPlugin<JobAcctFunctions>;

}  // namespace hal::host
