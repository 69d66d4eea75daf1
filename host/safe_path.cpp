// SPDX-License-Identifier: BSD-3-Clause
#include "host/safe_path.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <climits>

namespace hal::host {
namespace {

constexpr int kMaxLinks = 40;

bool trusted_owner(const struct stat& info) noexcept {
  return info.st_uid == 0 || info.st_uid == ::geteuid();
}

bool writable_by_others(const struct stat& info) noexcept {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Failure refuse(const std::string& path, const struct stat& info) {
  std::array<char, 16> mode{};
  (void)std::snprintf(mode.data(), mode.size(), "%04o", info.st_mode & 07777U);
  std::string detail = path;
  if (!trusted_owner(info)) {
    detail += ": belongs to user " + std::to_string(info.st_uid) +
              "; it must belong to root or to the user who runs this (chown root '" + path + "')";
  } else {
    detail += ": can be changed by other users (mode ";
    detail += mode.data();
    detail += "); take that right away (chmod go-w '" + path + "')";
  }
  return fail(Errc::no_permission, EACCES, std::move(detail));
}

/// Walks a path with every component checked.
class PathWalk {
 public:
  explicit PathWalk(bool sticky_end) : sticky_end_(sticky_end) {}

  Result<SafeDirectory> run(std::string_view path) {
    if (path.empty() || path.front() != '/' || path.size() >= PATH_MAX ||
        path.find('\0') != std::string_view::npos) {
      return fail(Errc::invalid_argument, EINVAL,
                  "\"" + std::string(path.substr(0, 256)) + "\": not an absolute path");
    }
    push(path);
    if (auto at_root = enter_root(); !at_root) return propagate(std::move(at_root));
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      if (auto step = enter(name); !step) return propagate(std::move(step));
    }
    return SafeDirectory{path_.empty() ? "/" : path_, std::move(fd_)};
  }

 private:
  /// Puts the components of `path` in front of what is still to be walked.
  void push(std::string_view path) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < path.size();) {
      const std::size_t end = std::min(path.find('/', at), path.size());
      const std::string_view part = path.substr(at, end - at);
      if (!part.empty() && part != ".") parts.emplace_back(part);
      at = end + 1;
    }
    pending_.insert(pending_.end(), parts.rbegin(), parts.rend());
  }

  Result<> enter_root() {
    path_.clear();
    fd_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd_) return fail_errno(errno, "/");
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return fail_errno(errno, "/");
    if (!trusted_owner(info) || writable_by_others(info)) return refuse("/", info);
    return {};
  }

  Result<> enter(const std::string& name) {
    const std::string here = name == ".." ? parent() : path_ + "/" + name;
    UniqueFd next(::openat(fd_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return fail_errno(errno, here);
    struct stat info {};
    if (::fstat(next.get(), &info) != 0) return fail_errno(errno, here);
    if (S_ISLNK(info.st_mode)) return follow(here, next, info);
    if (!S_ISDIR(info.st_mode)) return fail_errno(ENOTDIR, here);
    const bool sticky =
        (sticky_end_ || !pending_.empty()) && (info.st_mode & S_ISVTX) != 0 && info.st_uid == 0;
    if (!trusted_owner(info) || (writable_by_others(info) && !sticky)) {
      return refuse(here.empty() ? "/" : here, info);
    }
    path_ = here;
    fd_ = std::move(next);
    return {};
  }

  Result<> follow(const std::string& here, const UniqueFd& link, const struct stat& info) {
    if (!trusted_owner(info)) return refuse(here, info);
    if (++links_ > kMaxLinks) return fail_errno(ELOOP, here);
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
    if (size <= 0) return fail_errno(size < 0 ? errno : ENOENT, here);
    const std::string_view text(target.data(), static_cast<std::size_t>(size));
    push(text);
    return text.front() == '/' ? enter_root() : Result<>{};
  }

  [[nodiscard]] std::string parent() const {
    const std::size_t slash = path_.rfind('/');
    return slash == std::string::npos ? std::string() : path_.substr(0, slash);
  }

  std::vector<std::string> pending_;  ///< last one first
  std::string path_;                  ///< "" is the root
  UniqueFd fd_;
  int links_ = 0;
  bool sticky_end_;
};

}  // namespace

Result<SafeDirectory> open_safe_directory(std::string_view path) {
  return PathWalk(/*sticky_end=*/false).run(path);
}

Result<SafeDirectory> open_parent_directory(std::string_view path) {
  return PathWalk(/*sticky_end=*/true).run(path);
}

Result<UniqueFd> open_safe_file(const SafeDirectory& directory, const std::string& name) {
  const std::string path = (directory.path == "/" ? "" : directory.path) + "/" + name;
  if (name.empty() || name.find('/') != std::string::npos) {
    return fail(Errc::invalid_argument, EINVAL, "\"" + name + "\": not a plain file name");
  }
  // Non-blocking, so that a pipe put in a file's place cannot hold the process.
  UniqueFd fd(
      ::openat(directory.fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    if (errno == ELOOP) {
      return fail(Errc::no_permission, ELOOP, path + ": is a link; put the file itself there");
    }
    return fail_errno(errno, path);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail_errno(errno, path);
  if (!S_ISREG(info.st_mode)) {
    return fail(Errc::no_permission, EACCES, path + ": not a regular file");
  }
  if (!trusted_owner(info) || writable_by_others(info)) return refuse(path, info);
  return fd;
}

Result<std::string> make_absolute(std::string_view path) {
  if (path.empty()) return fail(Errc::invalid_argument, EINVAL, "empty path");
  if (path.front() == '/') return std::string(path);
  std::array<char, PATH_MAX> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) {
    return fail_errno(errno, "working directory");
  }
  return std::string(here.data()) + "/" + std::string(path);
}

}  // namespace hal::host
