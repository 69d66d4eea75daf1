// SPDX-License-Identifier: BSD-3-Clause
// Check 13: nothing that this backend logs, reports or describes tells a key.
#include <cerrno>
#include <sys/stat.h>

#include "tests/unit/backends/elan_key_forms.h"
#include "tests/unit/backends/elan_node_fixture.h"

namespace hal::elan::test {
namespace {

class ElanSecrecyTest : public ElanNodeTest {
 protected:
  void SetUp() override {
    host_.log_path_ = directory_.file("log");  // forked copies write there too
    ElanNodeTest::SetUp();
    remember(step_);
  }

  const Credential& remember(const Credential& credential) {
    forms_.merge(forms_of_key(credential.wire()));
    say(codec()->describe(credential) + codec()->describe_long(credential));
    return credential;
  }

  /// What the caller of the backend would log.
  void say(const std::string& text) { host_.log(LogLevel::debug, text); }
  template <class T>
  void say(const Result<T>& result) {
    if (!result) say(result.error().detail);
  }

  /// The credential with one byte changed: refused, which is reported.
  [[nodiscard]] Credential damaged(const Credential& credential, std::size_t at) {
    auto wire = bytes_of(credential.wire());
    wire[at] ^= std::byte{0xFF};
    ByteReader reader(wire);
    say(codec()->decode(reader));
    Credential bad(std::move(wire));
    say(codec()->describe(bad) + codec()->describe_long(bad));
    return bad;
  }

  void expect_silence(std::string_view proof) {
    const std::string said = read_text(host_.log_path_);
    EXPECT_NE(said.find(proof), std::string::npos) << "the scene was not played:\n" << said;
    EXPECT_GT(forms_.size(), 20U);
    EXPECT_TRUE(found_in(said, forms_).empty()) << said;
  }

  std::set<std::string> forms_;
};

TEST_F(ElanSecrecyTest, Check13_TheSearchFindsAKey) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", load_word(&step_.wire()[kKeyOffset]));
  const std::string raw(reinterpret_cast<const char*>(step_.wire().data()), 64);

  EXPECT_FALSE(found_in(raw, forms_).empty());
  if (text[0] != '0') {
    EXPECT_FALSE(found_in("key " + std::string(text), forms_).empty());
  }
}

TEST_F(ElanSecrecyTest, Check13_Controller) {
  auto controller = this->controller();
  say(controller->load(directory_.path(), {}));
  std::vector<Credential> steps;
  for (int i = 0; i < 20; ++i) steps.push_back(remember(*build(*controller, "q[0-3]", 8)));
  say(build(*controller, "nobody", 1));
  say(build(*controller, "q0", 1024));
  say(build(*controller, "q0", 1000));  // exhausted
  const Credential bad = damaged(steps[0], 40);
  say(controller->release(bad));

  const std::string temporary = directory_.file("qsw_state.tmp");
  ASSERT_EQ(::mkdir(temporary.c_str(), 0700), 0);
  say(build(*controller, "q0", 1));
  say(controller->save(directory_.path()));
  say(controller->release(steps[1]));
  ASSERT_EQ(::rmdir(temporary.c_str()), 0);

  const Credential rival = remember(*build(*this->controller(), "q[0-3]", 8));
  write_text(directory_.file("qsw_state"), "damage");
  const Credential* const running[] = {&steps[0], &rival, &bad};
  say(controller->load(directory_.path(), running));

  for (const char* proof : {"overlaps", "kept as", "not recorded", "no Elan id", "clean start"}) {
    expect_silence(proof);
  }
}

TEST_F(ElanSecrecyTest, Check13_RefusedOpens) {
  for (const char* function :
       {"rmsmod_init", "elanctrl_open", "elanctrl_create_cap", "rms_prgcreate", "rms_prgaddcap"}) {
    for (const bool one_manager : {false, true}) {
      ASSERT_TRUE(node_->destroy_context(step_, {}));
      if (!one_manager) say(node_->prepare(step_));
      Child session([&](Child&) {
        if (one_manager) say(node_->prepare(step_));
        if (!mock_->inject(function, 1, EINVAL)) return 1;
        const auto opened = node_->open_context(step_, ::getuid());
        say(opened);
        return opened ? 2 : 0;
      });
      EXPECT_EQ(session.wait(), 0) << function;
      reap_orphans();
      say(node_->destroy_context(step_, {}));
    }
  }

  expect_silence("refuses the capability");
  expect_silence("rms_prgaddcap");
}

TEST_F(ElanSecrecyTest, Check13_LifeAndDeathOfAStep) {
  say(node_->prepare(step_));
  say(node_->open_context(damaged(step_, 24), ::getuid()));
  Child session([&](Child&) {
    say(node_->open_context(step_, ::getuid()));
    say(node_->open_context(step_, ::getuid()));  // busy
    say(node_->attach(step_, task_place(7)));
    if (!mock_->inject("rms_setcap", 1, EFAULT)) return 1;
    say(node_->attach(step_, task_place(0)));
    const auto environment = node_->attach(step_, task_place(0));
    if (!environment) return 2;
    for (const auto& [name, value] : *environment) say(name + "=" + value);
    say(node_->leave(step_));
    return 0;
  });
  EXPECT_EQ(session.wait(), 0);
  say(node_->attach(step_, task_place(0)));
  ASSERT_TRUE(mock_->inject("rms_prgdestroy", 1, EACCES));
  say(node_->destroy_context(step_, {}));
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  say(node_->suspend(step_));

  for (const char* proof : {"rms_setcap", "rms_prgdestroy", "rms_prgsuspend", "RMS_RANK"}) {
    expect_silence(proof);
  }
}

}  // namespace
}  // namespace hal::elan::test
