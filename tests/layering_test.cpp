// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hal::test {
namespace {

namespace fs = std::filesystem;

/// A quoted include of one file, both as paths from the project's root.
struct Arrow {
  std::string from;
  std::string to;
};

std::string first_part(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

/// "backends/elan" of a path in that folder.
std::string vendor_of(std::string_view path) {
  const auto vendor = path.find('/');
  return std::string(path.substr(0, path.find('/', vendor + 1)));
}

/// plugins/<family>_<minor>.cpp, the one kind of file that may name a backend.
bool is_binding(std::string_view path) {
  std::ifstream file(fs::path(BACKPLANE_SOURCE_DIR) / path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return path.starts_with("plugins/") && path.find('/', 8) == std::string_view::npos &&
         path.ends_with(".cpp") && text.find("const char plugin_type[]") != std::string::npos;
}

/// Why the arrow is forbidden, or nothing.
std::optional<std::string> objection(const Arrow& arrow, bool from_binding) {
  const auto from = first_part(arrow.from);
  const auto to = first_part(arrow.to);
  if (to == "tests") return "only tests include tests";
  if (to == "hal") return {};
  if (from == "hal") return "hal/ knows nobody";
  if (from == "backends") {
    if (to != "backends") return "a backend includes hal/ and itself";
    if (vendor_of(arrow.from) != vendor_of(arrow.to)) return "backends do not know each other";
    return {};
  }
  if (from == "plugins") {
    if (to == "plugins") return {};
    if (to == "backends" && from_binding) return {};
    return "plugins/ includes hal/; only a binding file names a backend";
  }
  if (from == "host") {
    if (to == "host") return {};
    return "host/ includes hal/ only";
  }
  if (from == "tools") {
    if (to == "tools" || to == "host") return {};
    return "tools/ includes host/ and hal/ only";
  }
  return "unknown layer " + from;
}

/// The quoted includes of `text`, comments left aside as far as they start a line.
std::vector<std::string> quoted_includes(std::istream& text) {
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const auto word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const auto open = line.find('"', word);
    if (open == std::string::npos) continue;
    found.push_back(line.substr(open + 1, line.find('"', open + 1) - open - 1));
  }
  return found;
}

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".h" || extension == ".cpp" || extension == ".c";
}

/// Every forbidden arrow of the tree below `root`, as one line each, and how many there were.
struct Findings {
  std::vector<std::string> objections;
  int arrows = 0;
};

void check_file(const fs::path& root, const fs::path& file, Findings& findings) {
  std::ifstream text(file);
  const auto from = fs::relative(file, root).generic_string();
  for (const auto& to : quoted_includes(text)) {
    ++findings.arrows;
    if (to.find('/') == std::string::npos || to.find("..") != std::string::npos) {
      findings.objections.push_back(from + " includes " + to + ": not a path from the root");
    } else if (const auto why = objection({from, to}, is_binding(from)); why) {
      findings.objections.push_back(from + " includes " + to + ": " + *why);
    }
  }
}

Findings check_tree(const fs::path& root) {
  Findings findings;
  for (const char* layer : {"hal", "backends", "plugins", "host", "tools"}) {
    if (!fs::exists(root / layer)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / layer)) {
      if (entry.is_regular_file() && is_source(entry.path())) {
        check_file(root, entry.path(), findings);
      }
    }
  }
  return findings;
}

TEST(Layering, EveryIncludeFollowsTheOneWayRule) {
  const auto findings = check_tree(BACKPLANE_SOURCE_DIR);

  EXPECT_GT(findings.arrows, 100);
  for (const auto& line : findings.objections) ADD_FAILURE() << line;
}

TEST(Layering, ForbiddenArrowsAreFound) {
  const auto findings =
      check_tree(fs::path(BACKPLANE_SOURCE_DIR) / "tests/unit/plugins/bad_layers");

  EXPECT_EQ(findings.arrows, 10);
  EXPECT_EQ(findings.objections.size(), 8U);
}

TEST(Layering, BindingsAreTheOnlyFilesOfPluginsThatMayNameABackend) {
  const Arrow arrow{"plugins/guard.cpp", "backends/elan/backend.h"};

  EXPECT_TRUE(objection(arrow, is_binding(arrow.from)));
  EXPECT_TRUE(is_binding("plugins/switch_none.cpp"));
  EXPECT_FALSE(is_binding("plugins/switch_node.cpp"));
  EXPECT_FALSE(is_binding("plugins/classic/switch.cpp"));
  EXPECT_FALSE(objection({"plugins/switch_none.cpp", "backends/linux/none.h"}, true));
}

}  // namespace
}  // namespace hal::test
