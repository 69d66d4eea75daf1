// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace hal::bench {

/// 100,000 names. In two ranges because libslurm refuses more than 65,536 names in one.
inline const std::string kDense = "n[0-49999],m[0-49999]";

/// A short list, as a step has it.
inline const std::string kOneRange = "n[0-1023]";

/// 30,000 names of which no two are neighbours.
inline std::vector<std::string> sparse_names() {
  std::vector<std::string> names;
  for (int number = 1; number < 60'000; number += 2) names.push_back("n" + std::to_string(number));
  return names;
}

inline std::string sparse_text() {
  std::string text = "n[1";
  for (int number = 3; number < 60'000; number += 2) text += "," + std::to_string(number);
  return text + "]";
}

inline std::vector<std::string> dense_names() {
  std::vector<std::string> names;
  for (const char* prefix : {"n", "m"}) {
    for (int number = 0; number < 50'000; ++number) {
      names.push_back(prefix + std::to_string(number));
    }
  }
  return names;
}

}  // namespace hal::bench
