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

void log_line(LogLevel level, const char* text) noexcept {
  if (Service* service = the_service.peek(); service != nullptr) {
    service->host().symbols().log(level, text);
  } else {
    HostSymbols::find().log(level, text);
  }
}

void publish(const char* call, int code, const char* detail,
             LogLevel level = LogLevel::error) noexcept {
  last_error_code = code;
  try {
    const std::string line = std::string(plugin_type) + ": " + call + ": " + detail + " (error " +
                             std::to_string(code) + ")";
    log_line(level, line.c_str());
  } catch (...) {  // no memory for the long form
    log_line(level, detail);
  }
  errno = code;  // last: logging changes it
}

}  // namespace

void report(const char* call, const Error& error) noexcept {
  // Hosts signal every container at its end; that nobody is left in it is an answer, no fault.
  const bool nobody_left = error.kind == Errc::not_found && error.code == ESRCH;
  publish(call, error.code, error.detail.c_str(),
          nobody_left ? LogLevel::verbose : LogLevel::error);
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
