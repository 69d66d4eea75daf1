// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <sys/resource.h>
#include <sys/types.h>

namespace hal::host {

/// The five plugin families of the classic documents.
enum class Family : std::uint8_t { interconnect, proctrack, job_container, core_spec, jobacct };

inline constexpr std::size_t kFamilyCount = 5;

/// One exported function: its symbol and where its pointer lives in the family's function struct.
/// A symbol with several prototypes over the years fills several members.
struct SymbolSlot {
  const char* symbol;
  std::size_t offset;
};

/// Inclusive range of `plugin_version` values that a host of the classic documents takes.
struct VersionRange {
  std::uint32_t first;
  std::uint32_t last;
};

/// What a classic daemon asks of one family. Source: classic ABI, loading rules and exports.
struct FamilyTable {
  Family family;
  std::string_view major;       ///< "switch": in front of '/' in plugin_type, of '_' in file names
  std::string_view config_key;  ///< "SwitchType"
  std::size_t functions_size;   ///< sizeof of the function struct
  std::span<const SymbolSlot> required;       ///< in the loader's order; one missing: unusable
  std::span<const SymbolSlot> optional;       ///< looked up, null when absent
  std::span<const char* const> also_allowed;  ///< exports that belong to other releases
  bool version_required;                      ///< plugin_version must exist
  std::span<const VersionRange> versions;     ///< accepted values
};

/// Identity symbols of every family: plugin_name, plugin_type, plugin_version, init, fini.
[[nodiscard]] std::span<const char* const> identity_symbols() noexcept;

[[nodiscard]] std::span<const FamilyTable> families() noexcept;
[[nodiscard]] const FamilyTable& table_of(Family family) noexcept;

/// The family with that major type ("switch"), or null.
[[nodiscard]] const FamilyTable* find_family(std::string_view major) noexcept;

/// switch_p_*: version 0 prototypes, and under another member name the same symbol with the
/// arguments of a later daemon. Handles and Bufs are opaque: `void*`.
struct SwitchFunctions {
  static constexpr Family kFamily = Family::interconnect;

  // Required since 0.4, in the loader's order.
  int (*libstate_save)(char* directory);
  int (*libstate_restore)(char* directory);
  bool (*no_frag)();
  int (*alloc_jobinfo)(void** jobinfo);
  int (*build_jobinfo)(void* jobinfo, char* nodes, int task_count, int cyclic);
  void* (*copy_jobinfo)(void* jobinfo);
  void (*free_jobinfo)(void* jobinfo);
  int (*pack_jobinfo)(void* jobinfo, void* buffer);
  int (*unpack_jobinfo)(void* jobinfo, void* buffer);
  int (*get_jobinfo)(void* jobinfo, int key, void* out);
  void (*print_jobinfo)(std::FILE* stream, void* jobinfo);
  char* (*sprint_jobinfo)(void* jobinfo, char* text, std::size_t size);
  int (*node_init)();
  int (*node_fini)();
  int (*job_preinit)(void* jobinfo);
  int (*job_init)(void* jobinfo, uid_t uid);
  int (*job_fini)(void* jobinfo);
  int (*job_postfini)(void* jobinfo, uid_t process_group, std::uint32_t job, std::uint32_t step);
  int (*job_attach)(void* jobinfo, char*** env, std::uint32_t node_id, std::uint32_t local_id,
                    std::uint32_t node_count, std::uint32_t task_count, std::uint32_t rank);
  char* (*strerror)(int code);
  int (*get_errno)();
  int (*clear_node_state)();
  int (*alloc_node_info)(void** node_info);
  int (*build_node_info)(void* node_info);
  int (*pack_node_info)(void* node_info, void* buffer);
  int (*unpack_node_info)(void* node_info, void* buffer);
  int (*free_node_info)(void** node_info);
  char* (*sprintf_node_info)(void* node_info, char* text, std::size_t size);
  int (*job_step_complete)(void* jobinfo, char* nodes);

  // The same symbols as later daemons call them.
  int (*libstate_restore_late)(char* directory, bool recover);  // 0.6 on
  int (*build_jobinfo_network)(void* jobinfo, char* nodes, int task_count, int cyclic,
                               char* network);  // 0.5
  int (*build_jobinfo_counts)(void* jobinfo, char* nodes, int* tasks_per_node, int cyclic,
                              char* network);  // 0.6 on

  // Optional: null when the plugin does not have it.
  int (*get_data_jobinfo)(void* jobinfo, int key, void* out);
  int (*job_step_allocated)(void* jobinfo, char* nodes);
  int (*libstate_clear)();
  int (*slurmctld_init)();
  int (*slurmd_init)();
  int (*slurmd_step_init)();
  int (*job_step_part_comp)(void* jobinfo, char* nodes);
  bool (*part_comp)();
};

/// slurm_container_plugin_*: the eight of 2.3 to 2.6. `job` is a slurmd_job_t.
struct ProctrackFunctions {
  static constexpr Family kFamily = Family::proctrack;

  int (*create)(void* job);
  int (*add)(void* job, pid_t pid);
  int (*signal)(std::uint64_t id, int signal);
  int (*destroy)(std::uint64_t id);
  std::uint64_t (*find)(pid_t pid);
  bool (*has_pid)(std::uint64_t id, pid_t pid);
  int (*wait)(std::uint64_t id);
  int (*get_pids)(std::uint64_t id, pid_t** pids, int* count);
};

/// container_p_*: the document's five and `restore`, which every loader wants too.
struct JobContainerFunctions {
  static constexpr Family kFamily = Family::job_container;

  int (*create)(std::uint32_t job);
  int (*add_cont)(std::uint32_t job, std::uint64_t container);
  int (*join)(std::uint32_t job, uid_t uid);
  int (*remove)(std::uint32_t job);  ///< container_p_delete
  int (*restore)(char* directory, bool recover);
  void (*reconfig)();

  // Optional.
  int (*add_pid)(std::uint32_t job, pid_t pid, uid_t uid);
  int (*join_external)(std::uint32_t job);
  int (*stepd_create)(std::uint32_t job, uid_t uid);
  int (*stepd_delete)(std::uint32_t job);
};

/// core_spec_p_*.
struct CoreSpecFunctions {
  static constexpr Family kFamily = Family::core_spec;

  int (*set)(std::uint64_t container, std::uint16_t core_count);
  int (*clear)(std::uint64_t container);
  int (*suspend)(std::uint64_t container, std::uint16_t core_count);
  int (*resume)(std::uint64_t container, std::uint16_t core_count);
};

/// jobacct, 0.5 to 1.0. Records are opaque: see classic_records.h.
struct JobAcctFunctions {
  static constexpr Family kFamily = Family::jobacct;

  int (*controller_init)(char* location, char* parameters);  ///< slurmctld_jobacct_init
  int (*job_complete)(void* job_record);
  int (*job_start)(void* job_record);
  int (*process_message)(void* message);
  int (*node_init)(char* parameters);  ///< slurmd_jobacct_init
  int (*jobstep_launched)(void* job);
  int (*jobstep_terminated)(void* job);
  int (*smgr)();
  int (*task_exit)(void* job, pid_t pid, int status, struct rusage* usage);
};

}  // namespace hal::host
