// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "hal/backend.h"
#include "hal/types.h"

/// The suites that every backend must pass. A vendor writes one function, `backend_under_test`, and
/// links it with the suites of his roles (CMake: hal_add_conformance). Each test is named after the
/// clause of docs/contract.md that it asks for; what a backend does not offer is skipped with the
/// reason "unsupported: ...".
namespace hal::conformance {

/// Bytes of a credential that nothing may print.
struct SecretRange {
  std::size_t offset;
  std::size_t size;
};

/// What the suites of the interconnect roles must know of a backend.
struct InterconnectTraits {
  /// Eight nodes that the backend's configuration knows, in ascending order of its own ids; the
  /// tests run on the first of them unless they say otherwise.
  std::string nodes = "n[0-7]";

  /// True if each live step holds something that no other may have (contexts, windows, keys).
  bool exclusive_grants = false;

  /// Tasks of all live steps that fit on one node; 0: no limit.
  std::uint32_t tasks_per_node = 0;

  /// True if a node that the configuration does not name is refused.
  bool knows_nodes = false;

  /// True if `load` and `save` keep anything on disk.
  bool persistent = false;

  /// True if opening a context changes the node: attach without it, and opening twice, then fail.
  bool has_device = false;

  bool can_suspend = false;

  std::vector<SecretRange> secrets;

  /// True if two live credentials claim the same thing on the same node; may be empty.
  std::function<bool(const Credential&, const Credential&)> overlap;
};

struct BackendUnderTest {
  std::string name;
  const BackendDescriptor* descriptor = nullptr;
  BackendConfig config;

  /// Configurations with which no hardware can be found; each with a name.
  std::vector<std::pair<std::string, BackendConfig>> absent;

  InterconnectTraits interconnect;

  /// Makes a clean device for one test; `directory` is empty and lives as long as the test.
  std::function<void(const std::string& directory)> set_up = [](const std::string&) {};

  /// Makes the calling process one of node `name`.
  std::function<void(const std::string& name)> enter_node = [](const std::string&) {};

  /// Makes the calling process one of the user: as a task between fork and exec.
  std::function<void(uid_t user)> become = [](uid_t) {};

  /// What is left on the device, one line each; tests want none at their end.
  std::function<std::vector<std::string>()> leaks = [] { return std::vector<std::string>(); };

  /// Lets (true) or stops letting processes survive every signal; empty: cannot be arranged.
  std::function<void(bool)> immortal;
};

/// Defined once by whoever tests a backend.
[[nodiscard]] const BackendUnderTest& backend_under_test();

}  // namespace hal::conformance
