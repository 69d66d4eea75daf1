// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plugins/classic/switch_api.h"
#include "plugins/switch_service.h"

/// What the switch face's files share: the way from an exported function to the service.
namespace hal::classic {

using plugin::JobInfo;
using plugin::NodeInfo;
using plugin::SwitchService;

/// Calls `body(service)`.
template <class Body>
[[nodiscard]] int call(const char* name, Body&& body) noexcept {
  return plugin::call<SwitchService>(name, std::forward<Body>(body));
}

/// Calls `body(service, handle)` with the checked object behind `pointer`, null for null; a failure
/// is also noted in the object.
template <class H, class T, class Body>
[[nodiscard]] T call_or(const char* name, T on_failure, void* pointer, Body&& body) noexcept {
  using Answer = decltype(body(std::declval<SwitchService&>(), std::declval<H*>()));
  return plugin::call_or<SwitchService>(name, on_failure, [&](SwitchService& service) -> Answer {
    auto handle = H::from(pointer);
    if (!handle) [[unlikely]]
      return propagate(std::move(handle));
    auto answer = body(service, *handle);
    if (!answer && *handle != nullptr) (*handle)->set_last_error(answer.error().code);
    return answer;
  });
}

template <class Body>
[[nodiscard]] int call_job(const char* name, switch_jobinfo_t pointer, Body&& body) noexcept {
  return call_or<JobInfo>(name, -1, pointer, std::forward<Body>(body));
}

template <class Body>
[[nodiscard]] int call_node(const char* name, switch_node_info_t pointer, Body&& body) noexcept {
  return call_or<NodeInfo>(name, -1, pointer, std::forward<Body>(body));
}

}  // namespace hal::classic
