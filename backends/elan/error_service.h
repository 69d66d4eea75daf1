// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <pthread.h>
#include <string>

#include "backends/elan/elan_hosts.h"
#include "backends/elan/vendor_api.h"

namespace hal::elan {

/// The thread that resolves network errors for Elan3 adapters, which the kernel hands to one daemon
/// of the node. Not thread safe.
class ErrorService {
 public:
  explicit ErrorService(std::string library) : path_(std::move(library)) {}
  ~ErrorService();
  ErrorService(const ErrorService&) = delete;
  ErrorService& operator=(const ErrorService&) = delete;

  /// Opens the library, then gives the kernel every `eip` name, then starts the thread and waits
  /// for its verdict. Another daemon that serves already is success, without a thread.
  /// @return no_device (3007): no library; vendor: registration refused.
  [[nodiscard]] Result<> start(const ElanHosts& hosts);

  /// Ends and joins the thread. @return timed_out: it does not end.
  [[nodiscard]] Result<> stop();

  [[nodiscard]] bool running() const noexcept { return verdict_ != nullptr; }

 private:
  struct Verdict;
  [[nodiscard]] Result<> load_names(const ElanHosts& hosts) const;
  static void* serve(void* verdict);

  std::string path_;
  VendorLibrary library_;
  NetErrorApi api_;
  std::shared_ptr<Verdict> verdict_;  ///< of the thread that runs
  pthread_t thread_{};
  pid_t pid_ = 0;       ///< process of the thread
  pid_t enlisted_ = 0;  ///< process that the kernel knows as the daemon; lasts until it ends
};

}  // namespace hal::elan
