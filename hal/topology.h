// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hal/result.h"
#include "hal/types.h"

namespace hal {

/// One core as hwloc's logical order numbers it, with the operating system's numbers of its
/// hardware threads in ascending order.
struct Core {
  std::uint32_t logical_index = 0;  ///< from 0
  std::uint32_t package = 0;        ///< logical index of the package
  std::uint32_t numa_node = 0;      ///< logical index of the nearest NUMA node
  std::vector<std::uint32_t> threads;
};

/// The machine's cores and where its adapters sit. Immutable once made; any thread; no privilege.
/// Clauses CT-01..CT-08.
class CoreTopology {
 public:
  virtual ~CoreTopology() = default;

  /// All cores that the host may use, in logical order. [CT-01]
  [[nodiscard]] virtual Result<std::vector<Core>> cores() = 0;

  /// Cores near a PCI device such as "mlx5_0" or "0000:3b:00.0", nearest first. [CT-02]
  /// @return not_found: no such device in this topology.
  [[nodiscard]] virtual Result<std::vector<std::uint32_t>> cores_near(
      const std::string& device) = 0;

  /// Where the topology came from ("native", "xml:/path", "synthetic:..."), for people. [CT-03]
  [[nodiscard]] virtual std::string origin() const = 0;
};

/// How many cores a job wants kept free of its tasks. Classic hosts pass 16 bits: 0xfffe means
/// that the job asked for none, and since 15.08 the top bit counts threads instead of cores.
struct SpecializedCount {
  std::uint16_t raw = 0xfffe;

  [[nodiscard]] bool asked() const noexcept { return raw != 0xfffe && raw != 0; }
  [[nodiscard]] bool counts_threads() const noexcept { return asked() && (raw & 0x8000U) != 0; }
  [[nodiscard]] std::uint16_t value() const noexcept {
    return asked() ? static_cast<std::uint16_t>(raw & 0x7fffU) : std::uint16_t{0};
  }
};

/// Keeps a step's tasks off the specialized cores of one node. Runs in the step's manager as root,
/// after the tasks are held and before they are released. Clauses CR-01..CR-08.
class CoreReservation {
 public:
  virtual ~CoreReservation() = default;

  /// @return invalid_argument: more than the node has; not_found: no such aggregate. [CR-01]
  [[nodiscard]] virtual Result<> reserve(ContainerId aggregate, SpecializedCount count) = 0;

  /// The step is over; without a reserve, and for aggregate 0, it is success. [CR-02]
  [[nodiscard]] virtual Result<> release(ContainerId aggregate) = 0;

  /// After SIGSTOP / before SIGCONT of the whole step. [CR-03, CR-04]
  [[nodiscard]] virtual Result<> suspend(ContainerId aggregate, SpecializedCount count) = 0;
  [[nodiscard]] virtual Result<> resume(ContainerId aggregate, SpecializedCount count) = 0;
};

}  // namespace hal
