// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

#include "hal/vendor_library.h"

namespace hal::elan {

/// ELAN_CAPABILITY of libelanctrl; the same on 32 and 64 bit. Source: Elan sheet 1.1.
struct ElanCapability {
  std::uint32_t key[4];
  std::int32_t version;
  std::uint16_t type;
  std::uint16_t spare;
  std::int32_t low_context;
  std::int32_t high_context;
  std::int32_t my_context;
  std::int32_t low_node;
  std::int32_t high_node;
  std::uint32_t rail_mask;
  std::uint32_t bitmap[512];
};
static_assert(sizeof(ElanCapability) == 2096 && alignof(ElanCapability) == 4);
static_assert(offsetof(ElanCapability, version) == 16 && offsetof(ElanCapability, type) == 20);
static_assert(offsetof(ElanCapability, spare) == 22 && offsetof(ElanCapability, low_context) == 24);
static_assert(offsetof(ElanCapability, high_context) == 28);
static_assert(offsetof(ElanCapability, my_context) == 32);
static_assert(offsetof(ElanCapability, low_node) == 36 &&
              offsetof(ElanCapability, high_node) == 40);
static_assert(offsetof(ElanCapability, rail_mask) == 44 && offsetof(ElanCapability, bitmap) == 48);

/// ELAN3_CAPABILITY of the older libelan3, as far as public documents tell. Source: sheet 1.2.
struct Elan3Capability {
  std::uint32_t key[4];
  std::int32_t version;
  std::uint16_t type;
  std::uint16_t generation;
  std::int32_t low_context;
  std::int32_t high_context;
  std::int32_t my_context;
  std::int32_t low_node;
  std::int32_t high_node;
  std::int32_t entries;
  std::uint32_t rail_mask;
  std::uint32_t bitmap[16];
};
static_assert(sizeof(Elan3Capability) == 116 && offsetof(Elan3Capability, entries) == 44);
static_assert(offsetof(Elan3Capability, rail_mask) == 48);
static_assert(offsetof(Elan3Capability, bitmap) == 52);

/// librmscall. 0 is success, -1 with errno failure. Source: Elan sheet 1.3.
struct RmsApi {
  VendorFn<int()> init{"rmsmod_init"};
  VendorFn<void()> fini{"rmsmod_fini"};
  VendorFn<int(int program, uid_t owner, int cpus)> prgcreate{"rms_prgcreate"};
  VendorFn<int(int program)> prgdestroy{"rms_prgdestroy"};
  VendorFn<int(int program, int index, void* capability)> prgaddcap{"rms_prgaddcap"};
  VendorFn<int(int index, int context)> setcap{"rms_setcap"};
  VendorFn<int(pid_t pid, int* program)> getprgid{"rms_getprgid"};
  VendorFn<int(int program, int max, pid_t* pids, int* count)> prginfo{"rms_prginfo"};
  VendorFn<int(int max, int* programs, int* count)> prgids{"rms_prgids"};
  VendorFn<int(int program, int signal)> prgsignal{"rms_prgsignal"};
};

/// Not in every librmscall.
struct RmsSuspendApi {
  VendorFn<int(int program)> prgsuspend{"rms_prgsuspend"};
  VendorFn<int(int program)> prgresume{"rms_prgresume"};
};

/// libelanctrl: closing the last reference to a handle destroys its capabilities.
struct ElanCtrlApi {
  VendorFn<int(void** handle)> open{"elanctrl_open"};
  VendorFn<int(void* handle, ElanCapability* capability)> create_cap{"elanctrl_create_cap"};
  VendorFn<int(void* handle)> close{"elanctrl_close"};
};

/// libelan3; open gives NULL or all ones on failure, create a negative number.
struct Elan3Api {
  VendorFn<void*(int rail)> open{"elan3_control_open"};
  VendorFn<int(void* context, Elan3Capability* capability)> create{"elan3_create"};
  VendorFn<void(void* context)> close{"elan3_control_close"};
};

/// Network error service of libelan3. init and register: non-zero is success.
struct NetErrorApi {
  VendorFn<int(int dump)> init{"elan3_init_neterr_svc"};
  VendorFn<int()> enlist{"elan3_register_neterr_svc"};
  VendorFn<int()> run{"elan3_run_neterr_svc"};
  VendorFn<int(int id, char* host)> load{"elan3_load_neterr_svc"};
};

}  // namespace hal::elan
