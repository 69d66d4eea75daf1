// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

#include "hal/config.h"
#include "host/safe_path.h"
#include "host/site_conf.h"

namespace hal::host {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20;

Result<std::string> read_all(const UniqueFd& fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> block{};
  for (;;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) {
      return fail(Errc::invalid_argument, E2BIG,
                  path + ": longer than 1 MiB; this is not a configuration file");
    }
  }
}

/// "/usr/bin" and "../lib/x" -> "/usr/lib/x"; the executable's directory has no links.
std::string beside_executable(std::string_view relative) {
  std::string base = executable_directory();
  while (relative.starts_with("../")) {
    relative.remove_prefix(3);
    base.resize(std::min(base.rfind('/'), base.size()));
  }
  return base + "/" + std::string(relative);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

Result<SiteConf> SiteConf::load(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail_errno(errno, path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::no_permission, EACCES, path + ": not a regular file");
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return fail(Errc::no_permission, EACCES,
                path + ": belongs to user " + std::to_string(info.st_uid) +
                    "; it must belong to root or to the user who runs this");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(
        Errc::no_permission, EACCES,
        path + ": can be changed by other users; take that right away (chmod go-w '" + path + "')");
  }
  auto text = read_all(fd, path);
  if (!text) return propagate(std::move(text));
  return parse(*text, path);
}

Result<SiteConf> SiteConf::load_for_command(const std::string& named) {
  if (!named.empty()) return load(named);
  auto conf = load(kDefaultSiteConf);
  if (!conf && conf.error().kind == Errc::not_found) return SiteConf();
  return conf;
}

std::string executable_directory() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size <= 0) return {};
  const std::string_view text(path.data(), static_cast<std::size_t>(size));
  return std::string(text.substr(0, text.rfind('/')));
}

std::string SiteConf::plugin_dir() const {
  return plugin_dir_.empty() ? beside_executable(BACKPLANE_REL_PLUGIN_DIR) : plugin_dir_;
}

std::string SiteConf::state_save_location() const {
  if (!state_save_location_.empty()) return state_save_location_;
  if (::geteuid() == 0) return "/var/lib/backplane";
  const char* const state = ::secure_getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/backplane";
  const char* const home = ::secure_getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/backplane";
  return "/tmp/backplane-" + std::to_string(::geteuid());
}

Result<std::string> prepare_state_directory(const std::string& directory) {
  auto absolute = make_absolute(directory);
  if (!absolute) return absolute;
  while (absolute->size() > 1 && absolute->back() == '/') absolute->pop_back();
  auto opened = open_safe_directory(*absolute);
  if (!opened && opened.error().kind == Errc::not_found) {
    const std::size_t slash = absolute->rfind('/');
    const std::string above = slash == 0 ? "/" : absolute->substr(0, slash);
    auto parent = open_parent_directory(above);
    if (!parent && parent.error().kind == Errc::not_found) {
      if (auto made = prepare_state_directory(above); !made) return made;
      parent = open_parent_directory(above);
    }
    if (!parent) return propagate(std::move(parent));
    if (::mkdirat(parent->fd.get(), absolute->c_str() + slash + 1, 0700) != 0 && errno != EEXIST) {
      return fail_errno(errno, "create " + *absolute);
    }
    opened = open_safe_directory(*absolute);
  }
  if (!opened) return propagate(std::move(opened));
  return std::move(opened->path);
}

HalConfChoice locate_hal_conf(const SiteConf& conf) {
  if (!conf.hal_conf().empty()) return {conf.hal_conf(), false};
  const std::string site(kDefaultConfigPath);
  if (exists(site)) return {site, false};
  const std::string demo = beside_executable(BACKPLANE_REL_DEMO_CONF);
  if (exists(demo)) return {demo, true};
  return {site, false};
}

}  // namespace hal::host
