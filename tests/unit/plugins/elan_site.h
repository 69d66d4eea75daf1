// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fstream>
#include <iterator>
#include <map>

#include "backends/elan/saved_state.h"
#include "tests/unit/plugins/switch_plugin.h"

namespace hal::test {

inline constexpr const char* kElanPlugin = "switch_elan.so";

/// A site with 64 Elan nodes n0..n63 (ids 0..63), mock vendor libraries and a state directory.
class ElanSite {
 public:
  explicit ElanSite(int era = 4, std::string_view more_options = {}) : host(era) {
    std::ofstream(host.directory() / "elanhosts") << "eip [0-63] n[0-63]\n";
    std::filesystem::permissions(host.directory() / "elanhosts", std::filesystem::perms(0600));
    std::filesystem::create_directory(state());
    const std::string mocks(BACKPLANE_MOCK_DIR);
    host.set_config("[switch/elan]\nelanhosts = " + (host.directory() / "elanhosts") +
                    "\nlibrmscall = " + mocks + "/librmscall.so" + "\nlibelanctrl = " + mocks +
                    "/libelanctrl.so" + "\nlibelan3 = " + mocks + "/libelan3.so\n" +
                    std::string(more_options));
    ::setenv("BACKPLANE_MOCK_STATE", mock_state().c_str(), 1);
  }
  ~ElanSite() { ::unsetenv("BACKPLANE_MOCK_STATE"); }
  ElanSite(const ElanSite&) = delete;
  ElanSite& operator=(const ElanSite&) = delete;

  [[nodiscard]] std::string state() const { return host.directory() / "state"; }
  [[nodiscard]] std::string state_file() const { return state() + "/" + elan::kStateFileName; }
  [[nodiscard]] std::string mock_state() const { return host.directory() / "mock"; }

  [[nodiscard]] std::vector<std::byte> state_bytes() const {
    std::ifstream file(state_file(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  /// Grants that the state file records, by program number.
  [[nodiscard]] std::map<RangeAllocator::Key, RangeAllocator::Grant> recorded() const {
    auto state = elan::decode_state(state_bytes());
    if (!state) return {};
    return state->contexts.grants();
  }

  TestHost host;
};

/// A controller that starts: opened plugin, state restored from the site's directory.
struct ElanController : SwitchPlugin {
  explicit ElanController(const ElanSite& site)
      : SwitchPlugin(kElanPlugin), directory(site.state()) {}

  [[nodiscard]] int restore(int recover = 1) { return libstate_restore(directory.data(), recover); }
  [[nodiscard]] int save() { return libstate_save(directory.data()); }

  std::string directory;
};

}  // namespace hal::test
