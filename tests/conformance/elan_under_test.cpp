// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <fstream>
#include <grp.h>
#include <optional>
#include <unistd.h>

#include "backends/elan/backend.h"
#include "hal/bytes.h"
#include "tests/conformance/conformance.h"
#include "tests/mocks/elan/mock_control.h"

namespace hal::conformance {
namespace {

using backplane_mock::ElanMock;

std::optional<ElanMock>& mock() {
  static std::optional<ElanMock> current;
  return current;
}

BackendConfig config_with(const std::string& mock_directory,
                          const std::string& rms = "librmscall.so") {
  return BackendConfig("conformance", {{"librmscall", mock_directory + "/" + rms},
                                       {"libelanctrl", mock_directory + "/libelanctrl.so"},
                                       {"libelan3", mock_directory + "/libelan3.so"},
                                       {"flavour", "elanctrl"},
                                       {"elanhosts", BACKPLANE_DEMO_DIR "/elanhosts"}});
}

std::uint32_t word(std::span<const std::byte> wire, std::size_t offset) {
  ByteReader reader(wire.subspan(offset));
  return reader.u32().value_or(0);
}

// Credential layout: Elan sheet 4.1. Contexts at 32 and 36, nodes at 44 and 48.
bool overlap(const Credential& a, const Credential& b) {
  const auto meet = [&](std::size_t low, std::size_t high) {
    return word(a.wire(), low) <= word(b.wire(), high) &&
           word(b.wire(), low) <= word(a.wire(), high);
  };
  return meet(32, 36) && meet(44, 48);
}

BackendUnderTest describe_elan() {
  BackendUnderTest elan;
  elan.name = "elan";
  elan.descriptor = &hal::elan::backend;
  elan.config = config_with(BACKPLANE_MOCK_DIR);
  elan.absent = {{"no libraries", config_with("/nonexistent")},
                 {"libraries that lack a symbol", config_with(BACKPLANE_MOCK_DIR "/lacking")}};
  elan.interconnect = {.exclusive_grants = true,
                       .tasks_per_node = 1023,
                       .knows_nodes = true,
                       .persistent = true,
                       .has_device = true,
                       .secrets = {{8, 16}},
                       .overlap = overlap};
  elan.set_up = [](const std::string& directory) {
    const std::string state = directory + "/state";
    ::setenv("BACKPLANE_MOCK_STATE", state.c_str(), 1);
    ::setenv("BACKPLANE_MOCK_UID", "0", 1);
    mock() = ElanMock::open(state);
  };
  elan.enter_node = [](const std::string& name) { ::setenv("SLURMD_NODENAME", name.c_str(), 1); };
  elan.become = [](uid_t user) {
    ::setenv("BACKPLANE_MOCK_UID", std::to_string(user).c_str(), 1);
    const gid_t group = user;
    if (::geteuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
         ::setresuid(user, user, user) != 0)) {
      ::_exit(99);
    }
  };
  elan.leaks = [] { return mock() ? mock()->leaks() : std::vector<std::string>{"no mock"}; };
  elan.immortal = [](bool on) {
    mock()->set_option("ignore_term", on ? 1 << 30 : 0);
    mock()->set_option("ignore_kill", on ? 1 << 30 : 0);
  };
  return elan;
}

}  // namespace

const BackendUnderTest& backend_under_test() {
  static const BackendUnderTest elan = describe_elan();
  return elan;
}

}  // namespace hal::conformance
