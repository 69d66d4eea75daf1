// SPDX-License-Identifier: BSD-3-Clause
#include "hal/result.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace hal {
namespace {

TEST(Fail, CodeIsNeverZero) {
  EXPECT_EQ(Result<>(fail(Errc::invalid_argument, 0, "x")).error().code, EINVAL);
  EXPECT_EQ(Result<>(fail(Errc::vendor, 0, "x")).error().code, EIO);
  EXPECT_EQ(Result<>(fail(Errc::vendor, 3001, "x")).error().code, 3001);
}

TEST(FailErrno, KindAndText) {
  const Result<int> result = fail_errno(ENOENT, "open /x");

  EXPECT_EQ(result.error().kind, Errc::not_found);
  EXPECT_EQ(result.error().code, ENOENT);
  EXPECT_EQ(result.error().detail, "open /x: No such file or directory");
  EXPECT_EQ(Result<>(fail_errno(99999, "x")).error().detail, "x: unknown error");
}

TEST(KindOfErrno, WhatACallerCanDo) {
  EXPECT_EQ(kind_of_errno(EINVAL), Errc::invalid_argument);
  EXPECT_EQ(kind_of_errno(EEXIST), Errc::busy);
  EXPECT_EQ(kind_of_errno(EACCES), Errc::no_permission);
  EXPECT_EQ(kind_of_errno(ENOSYS), Errc::unsupported);
  EXPECT_EQ(kind_of_errno(ENODEV), Errc::no_device);
  EXPECT_EQ(kind_of_errno(EFBIG), Errc::exhausted);
  EXPECT_EQ(kind_of_errno(EBADMSG), Errc::corrupt);
  EXPECT_EQ(kind_of_errno(ETIMEDOUT), Errc::timed_out);
  EXPECT_EQ(kind_of_errno(EFAULT), Errc::internal);
}

TEST(WithContext, PrependsToFailuresOnly) {
  EXPECT_EQ(with_context(Result<int>(fail(Errc::busy, EBUSY, "inner")), "outer").error().detail,
            "outer: inner");
  EXPECT_EQ(with_context(Result<int>(7), "outer"), 7);
}

TEST(Propagate, KeepsTheError) {
  const Result<std::string> passed = propagate(Result<int>(fail(Errc::busy, EBUSY, "inner")));

  EXPECT_EQ(passed.error().kind, Errc::busy);
  EXPECT_EQ(passed.error().detail, "inner");
}

TEST(ToString, EveryKindHasItsName) {
  const std::pair<Errc, std::string_view> names[] = {
      {Errc::invalid_argument, "invalid_argument"},
      {Errc::not_found, "not_found"},
      {Errc::busy, "busy"},
      {Errc::no_permission, "no_permission"},
      {Errc::unsupported, "unsupported"},
      {Errc::no_device, "no_device"},
      {Errc::exhausted, "exhausted"},
      {Errc::corrupt, "corrupt"},
      {Errc::timed_out, "timed_out"},
      {Errc::vendor, "vendor"},
      {Errc::internal, "internal"},
  };
  for (const auto& [kind, name] : names) EXPECT_EQ(to_string(kind), name);
}

}  // namespace
}  // namespace hal
