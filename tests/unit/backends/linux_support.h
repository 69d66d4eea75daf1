// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "backends/linux/backend.h"
#include "hal/process_aggregate.h"
#include "tests/conformance/process_aggregate.h"

namespace hal::linux_host {

/// Rounds are divided by this where a sanitizer makes each fork copy its shadow memory.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kScale = 10;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int kScale = 10;
#else
inline constexpr int kScale = 1;
#endif
#else
inline constexpr int kScale = 1;
#endif

/// What the backend borrows from a daemon; nothing is logged here by design (no caller-less code).
class QuietHost final : public Host {
 public:
  void log(LogLevel, std::string_view message) override { FAIL() << "unexpected: " << message; }
  std::string node_name() override { return "n0"; }
  Clock& clock() override { return system_clock(); }
};

inline Result<std::unique_ptr<ProcessAggregate>> make_pgid(bool group_references = true) {
  static QuietHost host;
  const BackendConfig config("test", {{"group_references", group_references ? "yes" : "no"}});
  return pgid_backend.make_process_aggregate({.config = config, .host = host});
}

inline conformance::AggregateUnderTest pgid(std::string name, bool group_references) {
  return {.name = std::move(name),
          .make = [group_references] { return make_pgid(group_references); },
          .holds_setsid = false};
}

/// Checks of the pgid tracker's own promises, with group references and as on older kernels.
class PgidTest : public conformance::ProcessAggregateTest {};

}  // namespace hal::linux_host
