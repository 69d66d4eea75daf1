// SPDX-License-Identifier: BSD-3-Clause
#include "host/identity.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <grp.h>
#include <limits>
#include <pwd.h>
#include <unistd.h>
#include <utility>

namespace hal::host {
namespace {

std::optional<std::uint32_t> number_of(const std::string& text) {
  std::uint32_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || last != end || value == std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return value;
}

struct PasswordEntry {
  passwd entry{};
  std::vector<char> text;
};

std::optional<PasswordEntry> find_user(const std::string& name) {
  PasswordEntry found;
  found.text.resize(std::size_t{64} << 10);
  passwd* result = nullptr;
  const auto id = number_of(name);
  if (id) {
    ::getpwuid_r(*id, &found.entry, found.text.data(), found.text.size(), &result);
  } else {
    ::getpwnam_r(name.c_str(), &found.entry, found.text.data(), found.text.size(), &result);
  }
  if (result == nullptr) return std::nullopt;
  return found;
}

Result<gid_t> find_group(const std::string& name) {
  if (const auto id = number_of(name)) return *id;
  std::vector<char> text(std::size_t{64} << 10);
  group entry{};
  group* result = nullptr;
  ::getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &result);
  if (result == nullptr) return fail(Errc::not_found, ENOENT, "--gid: no group '" + name + "'");
  return entry.gr_gid;
}

std::vector<gid_t> groups_of(const char* user, gid_t gid) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(user, gid, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size())) count = static_cast<int>(groups.size()) * 2;
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

Result<> fill_user(Identity& identity, const std::string& name, bool group_given) {
  const auto found = find_user(name);
  if (found) {
    identity.uid = found->entry.pw_uid;
    identity.gid = found->entry.pw_gid;
    identity.user = found->entry.pw_name;
    identity.home = found->entry.pw_dir;
    identity.shell = found->entry.pw_shell;
    return {};
  }
  const auto id = number_of(name);
  if (!id) return fail(Errc::not_found, ENOENT, "--uid: no user '" + name + "'");
  if (!group_given) {
    return fail(Errc::not_found, ENOENT,
                "--uid: user " + name + " has no entry, so give its group too (--gid)");
  }
  identity.uid = *id;
  return {};
}

}  // namespace

Result<Identity> find_identity(const std::optional<std::string>& user,
                               const std::optional<std::string>& group) {
  Identity identity;
  identity.uid = ::getuid();
  identity.gid = ::getgid();
  if (!user && !group) return identity;
  if (user) {
    if (auto filled = fill_user(identity, *user, group.has_value()); !filled) {
      return propagate(std::move(filled));
    }
  }
  if (group) {
    auto gid = find_group(*group);
    if (!gid) return propagate(std::move(gid));
    identity.gid = *gid;
  }
  if (identity.uid == ::getuid() && identity.gid == ::getgid() && ::geteuid() != 0) return identity;
  if (::geteuid() != 0) {
    return fail(Errc::no_permission, EPERM,
                std::string(user ? "--uid" : "--gid") +
                    ": only root can run a step as somebody "
                    "else; leave it out, or run as root");
  }
  identity.changes = true;
  identity.groups = identity.user.empty() ? std::vector<gid_t>{identity.gid}
                                          : groups_of(identity.user.c_str(), identity.gid);
  return identity;
}

Result<> become(const Identity& identity) {
  if (!identity.changes) return {};
  if (::setgroups(identity.groups.size(), identity.groups.data()) != 0) {
    return fail_errno(errno, "setgroups");
  }
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return fail_errno(errno, "setresgid");
  }
  if (::setresuid(identity.uid, identity.uid, identity.uid) != 0) {
    return fail_errno(errno, "setresuid");
  }
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  ::getresuid(&real, &effective, &saved);
  if (real != identity.uid || effective != identity.uid || saved != identity.uid) {
    return fail(Errc::internal, EPERM, "the user did not change");
  }
  if (identity.uid != 0 && (::setuid(0) == 0 || ::seteuid(0) == 0)) {
    return fail(Errc::internal, EPERM, "root can be had again");
  }
  return {};
}

Result<ActAs> ActAs::begin(const Identity& identity) {
  ActAs act;
  if (!identity.changes) return act;
  const int count = ::getgroups(0, nullptr);
  act.old_groups_.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
  if (count > 0 && ::getgroups(count, act.old_groups_.data()) < 0) {
    return fail_errno(errno, "getgroups");
  }
  act.old_gid_ = ::getegid();
  act.active_ = true;
  if (::setgroups(identity.groups.size(), identity.groups.data()) != 0 ||
      ::setegid(identity.gid) != 0 || ::seteuid(identity.uid) != 0) {
    return fail_errno(errno, "acting as the user");
  }
  return act;
}

ActAs::ActAs(ActAs&& other) noexcept
    : active_(std::exchange(other.active_, false)),
      old_gid_(other.old_gid_),
      old_groups_(std::move(other.old_groups_)) {}

ActAs::~ActAs() {
  if (!active_) return;
  if (::seteuid(0) != 0 || ::setegid(old_gid_) != 0 ||
      ::setgroups(old_groups_.size(), old_groups_.data()) != 0) {
    std::abort();
  }
}

}  // namespace hal::host
