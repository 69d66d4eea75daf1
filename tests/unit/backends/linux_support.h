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

/// Checks of the pgid tracker's own promises, with group references and as on older kernels.
class PgidTest : public conformance::ProcessAggregateTest {};

}  // namespace hal::linux_host
