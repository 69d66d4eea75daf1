// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/backends/linux_support.h"

namespace hal::conformance {
namespace {

std::string name_of(const testing::TestParamInfo<AggregateUnderTest>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Linux, ProcessAggregateTest,
                         testing::Values(linux_host::pgid("pgid", true),
                                         linux_host::pgid("pgid_by_number", false)),
                         name_of);

}  // namespace
}  // namespace hal::conformance

namespace hal::linux_host {

INSTANTIATE_TEST_SUITE_P(Linux, PgidTest,
                         testing::Values(pgid("pgid", true), pgid("pgid_by_number", false)),
                         conformance::name_of);

}  // namespace hal::linux_host
