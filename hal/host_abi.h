/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKPLANE_HAL_HOST_ABI_H
#define BACKPLANE_HAL_HOST_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a host of our own tells the plugins that it opens. A plugin looks the data symbol
 * `backplane_host` up in the global scope at init(); under a resource manager it is absent and the
 * plugin asks the manager's own symbols instead. Members are only appended; a plugin reads a member
 * only if `size` covers it. All pointers stay valid, and may be changed by the host between calls
 * (a daemon that plays several nodes sets `node_name` in the process that plays the node).
 */
struct backplane_host {
  uint32_t size;         /**< sizeof(struct backplane_host) of the host */
  int32_t switch_era;    /**< arguments of the switch calls: 4 = 0.4, 5 = 0.5, 6 = 0.6, 10 = 1.0 */
  const char* hal_conf;  /**< absolute path of hal.conf; NULL: the built-in default */
  const char* node_name; /**< NULL: the kernel's host name */
  /** Level as hal::LogLevel, one line of UTF-8 without newline; thread safe; NULL: standard error.
   */
  void (*log)(int32_t level, const char* message);
};

#ifdef __cplusplus
}
#endif

#endif
