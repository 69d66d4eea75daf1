// SPDX-License-Identifier: BSD-3-Clause

// Part of plugins that carry their own C++ runtime. The runtime sets some 70 KiB aside for throwing
// when memory is gone and never gives them back; a daemon that reloads plugins would lose as much
// each time.

namespace __gnu_cxx {
// NOLINTNEXTLINE(readability-identifier-naming): the name is libstdc++'s
void __freeres() noexcept;  // made for exactly this
}  // namespace __gnu_cxx

namespace {

__attribute__((destructor)) void give_runtime_pool_back() { __gnu_cxx::__freeres(); }

}  // namespace
