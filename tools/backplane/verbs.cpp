// SPDX-License-Identifier: BSD-3-Clause
#include "tools/backplane/verbs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

namespace backplane {
namespace {

constexpr std::array kVerbs = {
    Verb{"run", "run a job step through real plugins", run_main},
    Verb{"plugins", "list the plugins found, or check one file against its API", plugins_main},
};

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Verb> verbs() noexcept { return kVerbs; }

std::string_view suggest_verb(std::string_view word) noexcept {
  std::string_view best;
  std::size_t best_distance = 3;
  if (word.size() > 32) return best;
  for (const Verb& verb : kVerbs) {
    const std::size_t d = distance(word, verb.name);
    const bool prefix = word.size() >= 2 && verb.name.starts_with(word);
    if (prefix || d < best_distance) {
      best = verb.name;
      best_distance = prefix ? 0 : d;
    }
  }
  return best;
}

int complain(std::string_view message, int code) {
  (void)std::fprintf(stderr, "backplane: %.*s\n", static_cast<int>(message.size()), message.data());
  return code;
}

}  // namespace backplane
