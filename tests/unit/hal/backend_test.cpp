// SPDX-License-Identifier: BSD-3-Clause
#include "hal/backend.h"

#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hal {
namespace {

constexpr BackendDescriptor kElan{.name = "elan"};

Result<BoundBackend> bound(std::string_view config) {
  return bind("switch/elan", kElan, *Config::parse(config, "hal.conf"));
}

TEST(Bind, BuiltInByDefault) {
  for (const char* config :
       {"", "[switch/elan]\nrails = 2\n", "[switch/elan]\nbackend = builtin\nrails = 2\n",
        "[switch/none]\nbackend = /x.so\n"}) {
    const auto result = bound(config);
    ASSERT_TRUE(result) << config;
    EXPECT_EQ(result->descriptor, &kElan);
  }
}

TEST(Bind, PassesTheSectionOn) {
  EXPECT_EQ(bound("[switch/elan]\nrails = 2\n")->config.get("rails"), "2");
  EXPECT_TRUE(bound("[switch/none]\nrails = 2\n")->config.options().empty());
}

TEST(Bind, OtherBackendsAreUnsupported) {
  const auto result = bound("\n[switch/elan]\nbackend = /opt/acme.so\n");

  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Errc::unsupported);
  EXPECT_EQ(result.error().code, EOPNOTSUPP);
  EXPECT_THAT(result.error().detail, ::testing::StartsWith("hal.conf:2: backend = /opt/acme.so"));
}

}  // namespace
}  // namespace hal
