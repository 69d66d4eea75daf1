// SPDX-License-Identifier: BSD-3-Clause
#include "hal/host.h"

#include <cstddef>
#include <ctime>
#include <memory>
#include <new>

namespace hal {
namespace {

class MonotonicClock final : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }

  void wait(std::chrono::milliseconds span) override {
    if (span.count() <= 0) return;
    timespec pause{};
    pause.tv_sec = static_cast<std::time_t>(span.count() / 1000);
    pause.tv_nsec = static_cast<long>(span.count() % 1000) * 1'000'000L;
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
};

// Storage without a destructor: threads may still wait while the plugin's statics are torn down.
struct ClockStorage {
  alignas(MonotonicClock) std::byte bytes[sizeof(MonotonicClock)];
  MonotonicClock* clock = std::construct_at(reinterpret_cast<MonotonicClock*>(bytes));
};

}  // namespace

Clock& system_clock() noexcept {
  static ClockStorage storage;
  return *storage.clock;
}

}  // namespace hal
