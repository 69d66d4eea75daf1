// SPDX-License-Identifier: BSD-3-Clause
#include "host/site_conf.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <strings.h>

namespace hal::host {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxText = std::size_t{1} << 20;
constexpr std::size_t kMaxWarnings = 64;

bool same_key(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_minor(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '+';
         });
}

/// "elan" or "switch/elan" -> "switch/elan"; the reason why not otherwise.
Result<std::string> full_type(const FamilyTable& table, std::string_view value) {
  const std::string major = std::string(table.major) + "/";
  const std::string_view minor =
      value.starts_with(major) ? value.substr(major.size()) : std::string_view(value);
  if (value.find(',') != std::string_view::npos) {
    return fail(Errc::invalid_argument, EINVAL,
                "a list of plugins is not supported here; name one, such as " + major + "none");
  }
  if (!is_minor(minor)) {
    return fail(Errc::invalid_argument, EINVAL,
                "\"" + std::string(value.substr(0, 128)) + "\" is not a plugin of this family; " +
                    "write " + major + "NAME, such as " + major + "none");
  }
  return major + std::string(minor);
}

Result<> check_absolute(std::string_view value) {
  if (!value.empty() && value.front() == '/') return {};
  return fail(Errc::invalid_argument, EINVAL,
              "\"" + std::string(value.substr(0, 128)) + "\" is not absolute; begin it with '/'");
}

}  // namespace

/// Reads the text line by line into a SiteConf.
class SiteConfParser {
 public:
  explicit SiteConfParser(std::string_view name) : name_(name) {}

  Result<SiteConf> run(std::string_view text) {
    if (text.size() > kMaxText) {
      return fail(Errc::invalid_argument, E2BIG,
                  std::string(name_) + ": longer than 1 MiB; this is not a configuration file");
    }
    std::string logical;
    std::size_t logical_line = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view part = text.substr(at, end - at);
      at = end + 1;
      ++line_;
      if (logical.empty()) logical_line = line_;
      if (!part.empty() && part.back() == '\r') part.remove_suffix(1);
      const bool continued = !part.empty() && part.back() == '\\';
      if (continued) part.remove_suffix(1);
      logical += part;
      if (continued) logical += ' ';
      if (logical.size() > kMaxLine) return refuse(line_, "line longer than 4096 bytes; split it");
      if (continued && at < text.size()) continue;
      if (auto done = take_line(logical, logical_line); !done) return propagate(std::move(done));
      logical.clear();
    }
    return std::move(conf_);
  }

 private:
  Failure refuse(std::size_t line, const std::string& reason) const {
    return fail(Errc::invalid_argument, EINVAL,
                std::string(name_) + ":" + std::to_string(line) + ": " + reason);
  }

  void warn(std::size_t line, const std::string& text) {
    if (conf_.warnings_.size() < kMaxWarnings) {
      conf_.warnings_.push_back(std::string(name_) + ":" + std::to_string(line) + ": " + text);
    }
  }

  Result<> take_line(std::string_view text, std::size_t line) {
    // A '#' starts a comment unless a backslash stands before it.
    for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos; ++at) {
      if (at > 0 && text[at - 1] == '\\') continue;
      text = text.substr(0, at);
      break;
    }
    const auto control = std::find_if(text.begin(), text.end(), [](unsigned char c) {
      return (c < 0x20 && c != '\t') || c == 0x7f;
    });
    if (control != text.end()) return refuse(line, "control character; this is not a text file");
    text = trimmed(text);
    if (text.size() > 7 && same_key(text.substr(0, 7), "include") && is_blank(text[7])) {
      warn(line, "Include is not supported here; put the needed keys into this file");
      return {};
    }
    while (!text.empty()) {
      auto rest = take_pair(text, line);
      if (!rest) return propagate(std::move(rest));
      text = trimmed(*rest);
    }
    return {};
  }

  /// Takes one Key=Value off the front and answers what is left.
  Result<std::string_view> take_pair(std::string_view text, std::size_t line) {
    const std::size_t equals = text.find('=');
    const std::string_view key = trimmed(text.substr(0, std::min(equals, text.size())));
    if (equals == std::string_view::npos || key.empty() ||
        std::any_of(key.begin(), key.end(), is_blank)) {
      return refuse(line, "\"" + std::string(text.substr(0, 64)) + "\" is not Key=Value");
    }
    std::string_view value = trimmed(text.substr(equals + 1));
    std::string_view rest;
    if (!value.empty() && value.front() == '"') {
      const std::size_t close = value.find('"', 1);
      if (close == std::string_view::npos) {
        return refuse(line, std::string(key) + ": the closing '\"' is missing");
      }
      rest = value.substr(close + 1);
      value = value.substr(1, close - 1);
    } else {
      const std::size_t end = std::min(value.find_first_of(" \t"), value.size());
      rest = value.substr(end);
      value = value.substr(0, end);
    }
    if (auto done = store(key, value, line); !done) {
      return refuse(line, std::string(key) + ": " + done.error().detail);
    }
    return rest;
  }

  Result<> store(std::string_view key, std::string_view value, std::size_t line) {
    for (const FamilyTable& table : families()) {
      if (same_key(key, table.config_key)) return conf_.set_type(table.family, value);
    }
    if (same_key(key, "PluginDir")) return set_plugin_dir(value);
    if (same_key(key, "StateSaveLocation")) return set_path(conf_.state_save_location_, value);
    if (same_key(key, "HalConf")) return set_path(conf_.hal_conf_, value);
    if (same_key(key, "JobAcctLoc")) {
      conf_.job_acct_location_ = value;
    } else if (same_key(key, "JobAcctParameters")) {
      conf_.job_acct_parameters_ = value;
    } else if (same_key(key, "DebugFlags")) {
      conf_.debug_flags_ = value;
    } else {
      warn(line, "unknown key " + std::string(key.substr(0, 64)) + " passed over");
    }
    return {};
  }

  static Result<> set_path(std::string& to, std::string_view value) {
    if (auto done = check_absolute(value); !done) return done;
    to = value;
    return {};
  }

  Result<> set_plugin_dir(std::string_view value) {
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t end = std::min(value.find(':', at), value.size());
      if (auto done = check_absolute(value.substr(at, end - at)); !done) return done;
      at = end + 1;
    }
    conf_.plugin_dir_ = value;
    return {};
  }

  std::string_view name_;
  std::size_t line_ = 0;
  SiteConf conf_;
};

SiteConf::SiteConf() : job_acct_parameters_("Frequency=30") {
  for (const FamilyTable& table : families()) {
    types_[static_cast<std::size_t>(table.family)] =
        std::string(table.major) + (table.family == Family::proctrack ? "/pgid" : "/none");
  }
}

Result<SiteConf> SiteConf::parse(std::string_view text, std::string_view name) {
  return SiteConfParser(name).run(text);
}

const std::string& SiteConf::type_of(Family family) const noexcept {
  return types_[static_cast<std::size_t>(family)];
}

Result<> SiteConf::set_type(Family family, std::string_view type) {
  auto full = full_type(table_of(family), type);
  if (!full) return propagate(std::move(full));
  types_[static_cast<std::size_t>(family)] = std::move(*full);
  return {};
}

std::string SiteConf::job_acct_location() const {
  return job_acct_location_.empty() ? "/var/log/slurm_accounting.log" : job_acct_location_;
}

const std::string& SiteConf::job_acct_parameters() const noexcept { return job_acct_parameters_; }

const std::string& SiteConf::debug_flags() const noexcept { return debug_flags_; }

const std::string& SiteConf::hal_conf() const noexcept { return hal_conf_; }

}  // namespace hal::host
