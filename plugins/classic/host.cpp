// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/host.h"

#include <algorithm>
#include <cstring>

#include "plugins/classic/api.h"
#include "plugins/service.h"

namespace hal::classic {

char* copy_text(char* buffer, std::size_t size, std::string_view text) noexcept {
  if (buffer == nullptr || size == 0) return nullptr;
  const std::size_t length = std::min(size - 1, text.size());
  if (length > 0) std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
  return buffer;
}

}  // namespace hal::classic

// The identity functions that every family shares.

int init(void) {
  return hal::plugin::guard(
      "init", [] { return hal::plugin::open_service().transform([](hal::plugin::Service*) {}); });
}

int fini(void) {
  hal::plugin::close_service();
  return 0;
}
