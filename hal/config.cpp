// SPDX-License-Identifier: BSD-3-Clause
#include "hal/config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "hal/vendor_library.h"

namespace hal {
namespace {

constexpr std::size_t kMaxFile = std::size_t{1} << 20;
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxSections = 1024;
constexpr std::string_view kBlanks = " \t";

using Options = std::map<std::string, std::string, std::less<>>;

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Cuts a comment: '#' or ';' at the start or after a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '#' && line[i] != ';') continue;
    if (i == 0 || kBlanks.find(line[i - 1]) != std::string_view::npos) return line.substr(0, i);
  }
  return line;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

bool is_plugin_type(std::string_view text) {
  const auto slash = text.find('/');
  return slash != std::string_view::npos && is_word(text.substr(0, slash)) &&
         is_word(text.substr(slash + 1));
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) {}

  Result<> line(std::string_view text) {
    ++number_;
    if (text.size() > kMaxLine) {
      return refuse("longer than " + std::to_string(kMaxLine) + " bytes");
    }
    if (text.ends_with('\r')) return refuse("ends in a carriage return: use Unix line ends");
    for (const char c : text) {
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
        return refuse("control character " + std::to_string(static_cast<unsigned char>(c)));
      }
    }
    const std::string_view content = trim(without_comment(text));
    if (content.empty()) return {};
    return content.front() == '[' ? header(content) : option(content);
  }

  std::map<std::string, BackendConfig, std::less<>> finish() && {
    std::map<std::string, BackendConfig, std::less<>> sections;
    for (auto& [type, open] : sections_) {
      sections.emplace(type, BackendConfig(std::move(open.source), std::move(open.options)));
    }
    return sections;
  }

 private:
  struct Section {
    std::string source;
    Options options;
  };

  [[nodiscard]] std::string here() const {
    return std::string(name_) + ":" + std::to_string(number_);
  }

  [[nodiscard]] Failure refuse(const std::string& reason) const {
    return fail(Errc::invalid_argument, EINVAL, here() + ": " + reason);
  }

  Result<> header(std::string_view content) {
    if (content.size() < 2 || content.back() != ']') return refuse("section header without ']'");
    const std::string_view type = trim(content.substr(1, content.size() - 2));
    if (!is_plugin_type(type)) {
      return refuse("section " + quoted(type) + " is not of the form [type/minor] in lower case");
    }
    if (sections_.size() >= kMaxSections) {
      return refuse("more than " + std::to_string(kMaxSections) + " sections");
    }
    const auto [at, fresh] = sections_.try_emplace(std::string(type), Section{here(), {}});
    if (!fresh) {
      return refuse("section [" + std::string(type) + "] again; it began at " + at->second.source);
    }
    current_ = &at->second;
    return {};
  }

  Result<> option(std::string_view content) {
    const auto equals = content.find('=');
    if (equals == std::string_view::npos) {
      return refuse(quoted(content) + " is neither '[type/minor]' nor 'key = value'");
    }
    const std::string_view key = trim(content.substr(0, equals));
    if (!is_word(key)) {
      return refuse("key " + quoted(key) + ": use lower-case letters, digits, '_', '-' and '.'");
    }
    if (current_ == nullptr) {
      return refuse("key " + quoted(key) + " stands before the first [type/minor] header");
    }
    const std::string_view value = trim(content.substr(equals + 1));
    if (!current_->options.emplace(key, value).second) {
      return refuse("key " + quoted(key) + " again in the section of " + current_->source);
    }
    return {};
  }

  std::string_view name_;
  std::size_t number_ = 0;
  std::map<std::string, Section, std::less<>> sections_;
  Section* current_ = nullptr;
};

Result<> check_owner(const struct stat& facts, const std::string& path) {
  if (!S_ISREG(facts.st_mode)) {
    return fail(Errc::invalid_argument, EINVAL, path + ": not a regular file");
  }
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) {
    return fail(Errc::no_permission, EPERM,
                path + ": owned by user " + std::to_string(facts.st_uid) +
                    ", must be root's or the daemon user's: chown it");
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(Errc::no_permission, EPERM,
                path + ": writable by others than its owner: chmod go-w it");
  }
  return {};
}

Result<std::string> read_text(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> block{};
  while (true) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, path);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) {
      return fail(Errc::invalid_argument, EFBIG,
                  path + ": larger than " + std::to_string(kMaxFile) + " bytes");
    }
  }
}

}  // namespace

std::string BackendConfig::get(std::string_view key, std::string_view fallback) const {
  const auto found = options_.find(key);
  return found == options_.end() ? std::string(fallback) : found->second;
}

Result<std::uint64_t> BackendConfig::get_number(std::string_view key, std::uint64_t fallback,
                                                std::uint64_t lowest, std::uint64_t highest) const {
  const auto found = options_.find(key);
  if (found == options_.end()) return fallback;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < lowest ||
      value > highest) {
    return fail(Errc::invalid_argument, EINVAL,
                source_ + ": " + std::string(key) + " = " + text + ": a number from " +
                    std::to_string(lowest) + " to " + std::to_string(highest) + " is needed");
  }
  return value;
}

Result<bool> BackendConfig::get_flag(std::string_view key, bool fallback) const {
  const auto found = options_.find(key);
  if (found == options_.end()) return fallback;
  std::string text = found->second;
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (text == "yes" || text == "true" || text == "1") return true;
  if (text == "no" || text == "false" || text == "0") return false;
  return fail(Errc::invalid_argument, EINVAL,
              source_ + ": " + std::string(key) + " = " + found->second + ": write yes or no");
}

Result<std::string> BackendConfig::get_path(std::string_view key) const {
  const auto found = options_.find(key);
  if (found == options_.end()) return std::string();
  const std::string& path = found->second;
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
    return fail(Errc::invalid_argument, EINVAL,
                source_ + ": " + std::string(key) + " = " + path + ": an absolute path is needed");
  }
  return path;
}

Result<Config> Config::parse(std::string_view text, std::string_view name) {
  if (text.size() > kMaxFile) {
    return fail(Errc::invalid_argument, EFBIG,
                std::string(name) + ": larger than " + std::to_string(kMaxFile) + " bytes");
  }
  Parser parser(name);
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (auto parsed = parser.line(text.substr(0, end)); !parsed) {
      return propagate(std::move(parsed));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Config config;
  config.sections_ = std::move(parser).finish();
  return config;
}

Result<Config> Config::load(const std::string& path) {
  // O_NONBLOCK: a FIFO in place of the file must not stop the daemon.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    if (errno == ENOENT) return Config();
    if (errno == ELOOP) {
      return fail(Errc::no_permission, ELOOP,
                  path + ": is a symbolic link: put the file itself there");
    }
    return fail_errno(errno, path);
  }
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return fail_errno(errno, path);
  if (auto checked = check_owner(facts, path); !checked) return propagate(std::move(checked));
  auto text = read_text(file.get(), path);
  if (!text) return propagate(std::move(text));
  return parse(*text, path);
}

BackendConfig Config::section(std::string_view plugin_type) const {
  const auto found = sections_.find(plugin_type);
  return found == sections_.end() ? BackendConfig() : found->second;
}

}  // namespace hal
