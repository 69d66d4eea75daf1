// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/guard.h"

#include <cerrno>
#include <new>
#include <string>

#include "plugins/binding.h"
#include "plugins/service.h"

namespace hal::plugin {
namespace {

thread_local int last_error_code = 0;

void log_error(const char* text) noexcept {
  if (Service* service = the_service.peek(); service != nullptr) {
    service->host().symbols().log(LogLevel::error, text);
  } else {
    HostSymbols::find().log(LogLevel::error, text);
  }
}

void publish(const char* call, int code, const char* detail) noexcept {
  last_error_code = code;
  try {
    const std::string line = std::string(plugin_type) + ": " + call + ": " + detail + " (error " +
                             std::to_string(code) + ")";
    log_error(line.c_str());
  } catch (...) {  // no memory for the long form
    log_error(detail);
  }
  errno = code;  // last: logging changes it
}

}  // namespace

void report(const char* call, const Error& error) noexcept {
  publish(call, error.code, error.detail.c_str());
}

void report_exception(const char* call) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    publish(call, ENOMEM, "out of memory");
  } catch (const std::exception& exception) {
    publish(call, EIO, exception.what());
  } catch (...) {
    publish(call, EIO, "unknown exception");
  }
}

int last_error() noexcept { return last_error_code; }

}  // namespace hal::plugin
