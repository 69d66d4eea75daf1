// SPDX-License-Identifier: BSD-3-Clause
#include "host/plugin_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>

#include "host/elf_symbols.h"
#include "host/safe_path.h"

namespace hal::host {
namespace {

bool listed(std::span<const SymbolSlot> slots, const std::string& name) {
  return std::any_of(slots.begin(), slots.end(),
                     [&](const SymbolSlot& slot) { return name == slot.symbol; });
}

bool listed(std::span<const char* const> names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
}

bool tolerated(const std::string& name) {
  static constexpr std::array<const char*, 6> kNames = {"_init", "_fini",       "_edata",
                                                        "_end",  "__bss_start", "plugin_id"};
  return listed(std::span<const char* const>(kNames), name);
}

std::string join(const std::vector<std::string>& names, std::size_t most = 40) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// Collects the findings of one file.
class Inspection {
 public:
  Inspection(std::string file, SystemLibraries& libraries) : libraries_(libraries) {
    report_.file = std::move(file);
  }

  Result<PluginReport> run() {
    auto fd = open();
    if (!fd) return propagate(std::move(fd));
    auto symbols = ElfSymbols::read(fd->get());
    if (!symbols) {
      problem(symbols.error().detail, "build it as a shared object for this machine");
      return std::move(report_);
    }
    identify(*symbols);
    if (report_.family != nullptr) {
      check_file_name();
      check_exports(*symbols, *report_.family);
    }
    check_undefined(*symbols);
    return std::move(report_);
  }

 private:
  void problem(std::string what, std::string cure) {
    report_.findings.push_back({true, std::move(what), std::move(cure)});
  }

  void note(std::string what, std::string cure) {
    report_.findings.push_back({false, std::move(what), std::move(cure)});
  }

  /// Opens for reading; an unsafe path is a finding and does not stop the inspection.
  Result<UniqueFd> open() {
    const std::size_t slash = report_.file.rfind('/');
    auto directory = open_safe_directory(slash == 0 ? "/" : report_.file.substr(0, slash));
    if (directory) {
      auto fd = open_safe_file(*directory, report_.file.substr(slash + 1));
      if (fd) return fd;
      if (fd.error().kind == Errc::not_found) return fd;
      unsafe(fd.error().detail);
    } else {
      if (directory.error().kind == Errc::not_found) return propagate(std::move(directory));
      unsafe(directory.error().detail);
    }
    UniqueFd fd(::open(report_.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return fail_errno(errno, report_.file);
    return fd;
  }

  /// The detail's part after "; " is the cure.
  void unsafe(const std::string& detail) {
    const std::size_t at = detail.rfind("; ");
    if (at == std::string::npos) return problem(detail, "put a regular file there");
    problem(detail.substr(0, at), detail.substr(at + 2));
  }

  void identify(const ElfSymbols& symbols) {
    report_.type = symbols.text_of("plugin_type");
    report_.name = symbols.text_of("plugin_name");
    report_.version = symbols.number_of("plugin_version");
    if (!report_.type) {
      problem("no text constant plugin_type", "define: const char plugin_type[] = \"major/minor\"");
    }
    if (!report_.name) {
      problem("no text constant plugin_name", "define: const char plugin_name[] = \"...\"");
    }
    if (!report_.type) return;
    const std::string& type = *report_.type;
    report_.family = find_family(std::string_view(type).substr(0, type.find('/')));
    if (report_.family == nullptr || type.find('/') == std::string::npos) {
      report_.family = nullptr;
      problem("plugin_type \"" + type + "\" is of no family of the classic API",
              "use switch, proctrack, job_container, core_spec or jobacct");
      return;
    }
    report_.face = symbols.find("plugin_id") != nullptr ? "slurm-22.05" : "classic";
    if (report_.face != "classic") {
      problem("built for Slurm 22.05 (it has a plugin_id)", "take the build for the classic API");
    }
    check_version(*report_.family);
  }

  void check_version(const FamilyTable& family) {
    if (!report_.version) {
      if (!family.version_required) return;
      return problem("no number constant plugin_version",
                     "define: const uint32_t plugin_version = 100");
    }
    const std::uint32_t version = *report_.version;
    const bool known = std::any_of(
        family.versions.begin(), family.versions.end(),
        [&](const VersionRange& range) { return version >= range.first && version <= range.last; });
    if (known) return;
    problem("plugin_version " + version_text(version) +
                " is of a release whose calls take other arguments",
            "take the build for the classic API");
  }

  void check_file_name() {
    std::string wanted = *report_.type + ".so";
    std::replace(wanted.begin(), wanted.end(), '/', '_');
    const std::string name = report_.file.substr(report_.file.rfind('/') + 1);
    if (name == wanted) return;
    problem("the file is named " + name + ", so \"" + *report_.type + "\" is never found",
            "name it " + wanted);
  }

  void check_exports(const ElfSymbols& symbols, const FamilyTable& family) {
    std::vector<std::string> missing;
    for (const SymbolSlot& slot : family.required) {
      const ElfSymbol* const symbol = symbols.find(slot.symbol);
      if (symbol == nullptr || !symbol->function) missing.emplace_back(slot.symbol);
    }
    if (!missing.empty()) {
      problem(std::to_string(missing.size()) + " of " + std::to_string(family.required.size()) +
                  " functions missing: " + join(missing),
              "define and export them; stubs will do");
    }
    for (const char* const name : {"init", "fini"}) {
      if (symbols.find(name) == nullptr) {
        note(std::string("no function ") + name, "the documents ask for one, even if it is empty");
      }
    }
    std::vector<std::string> extra;
    for (const ElfSymbol& symbol : symbols.symbols()) {
      if (symbol.defined && !allowed(family, symbol.name)) extra.push_back(symbol.name);
    }
    if (extra.empty()) return;
    problem(std::to_string(extra.size()) + " exports that are not of this API: " + join(extra, 12),
            "hide them with a version script; they can take the place of other plugins' symbols");
  }

  static bool allowed(const FamilyTable& family, const std::string& name) {
    return listed(identity_symbols(), name) || listed(family.required, name) ||
           listed(family.optional, name) || listed(family.also_allowed, name) || tolerated(name);
  }

  void check_undefined(const ElfSymbols& symbols) {
    const std::vector<std::string> needed = libraries_.closure(symbols);
    bool all_found = true;
    for (const std::string& name : needed) {
      if (libraries_.find(name).found) continue;
      all_found = false;
      problem("needs " + name + ", which is in no system directory",
              "install it, or open it at run time so that the plugin loads without it");
    }
    if (!all_found) return;  // its symbols cannot be told from the daemon's
    const auto defined = [&](const std::string& symbol) {
      return std::any_of(needed.begin(), needed.end(), [&](const std::string& name) {
        return libraries_.find(name).defined.contains(symbol);
      });
    };
    std::vector<std::string> undefined;
    for (const ElfSymbol& symbol : symbols.symbols()) {
      if (!symbol.defined && !symbol.weak && !defined(symbol.name)) {
        undefined.push_back(symbol.name);
      }
    }
    if (undefined.empty()) return;
    problem("needs symbols that none of its libraries defines: " + join(undefined),
            "look a daemon's symbols up with dlsym at init(), or the plugin does not load "
            "elsewhere");
  }

  SystemLibraries& libraries_;
  PluginReport report_;
};

}  // namespace

bool PluginReport::usable() const noexcept {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.problem; });
}

Result<PluginReport> inspect_plugin(const std::string& file, SystemLibraries& libraries) {
  auto absolute = make_absolute(file);
  if (!absolute) return propagate(std::move(absolute));
  return Inspection(std::move(*absolute), libraries).run();
}

std::string version_text(std::uint32_t version) {
  if (version <= 0xffff) return std::to_string(version);
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%u.%02u.%u", (version >> 16) & 0xffU,
                      (version >> 8) & 0xffU, version & 0xffU);
  return text.data();
}

}  // namespace hal::host
