// SPDX-License-Identifier: BSD-3-Clause
#include "host/families.h"

#include <array>
#include <type_traits>

namespace hal::host {
namespace {

static_assert(std::is_standard_layout_v<SwitchFunctions>);

constexpr std::array<const char*, 5> kIdentity = {"plugin_name", "plugin_type", "plugin_version",
                                                  "init", "fini"};

// clang-format off
constexpr SymbolSlot kSwitchRequired[] = {
    {"switch_p_libstate_save", offsetof(SwitchFunctions, libstate_save)},
    {"switch_p_libstate_restore", offsetof(SwitchFunctions, libstate_restore)},
    {"switch_p_no_frag", offsetof(SwitchFunctions, no_frag)},
    {"switch_p_alloc_jobinfo", offsetof(SwitchFunctions, alloc_jobinfo)},
    {"switch_p_build_jobinfo", offsetof(SwitchFunctions, build_jobinfo)},
    {"switch_p_copy_jobinfo", offsetof(SwitchFunctions, copy_jobinfo)},
    {"switch_p_free_jobinfo", offsetof(SwitchFunctions, free_jobinfo)},
    {"switch_p_pack_jobinfo", offsetof(SwitchFunctions, pack_jobinfo)},
    {"switch_p_unpack_jobinfo", offsetof(SwitchFunctions, unpack_jobinfo)},
    {"switch_p_get_jobinfo", offsetof(SwitchFunctions, get_jobinfo)},
    {"switch_p_print_jobinfo", offsetof(SwitchFunctions, print_jobinfo)},
    {"switch_p_sprint_jobinfo", offsetof(SwitchFunctions, sprint_jobinfo)},
    {"switch_p_node_init", offsetof(SwitchFunctions, node_init)},
    {"switch_p_node_fini", offsetof(SwitchFunctions, node_fini)},
    {"switch_p_job_preinit", offsetof(SwitchFunctions, job_preinit)},
    {"switch_p_job_init", offsetof(SwitchFunctions, job_init)},
    {"switch_p_job_fini", offsetof(SwitchFunctions, job_fini)},
    {"switch_p_job_postfini", offsetof(SwitchFunctions, job_postfini)},
    {"switch_p_job_attach", offsetof(SwitchFunctions, job_attach)},
    {"switch_p_strerror", offsetof(SwitchFunctions, strerror)},
    {"switch_p_get_errno", offsetof(SwitchFunctions, get_errno)},
    {"switch_p_clear_node_state", offsetof(SwitchFunctions, clear_node_state)},
    {"switch_p_alloc_node_info", offsetof(SwitchFunctions, alloc_node_info)},
    {"switch_p_build_node_info", offsetof(SwitchFunctions, build_node_info)},
    {"switch_p_pack_node_info", offsetof(SwitchFunctions, pack_node_info)},
    {"switch_p_unpack_node_info", offsetof(SwitchFunctions, unpack_node_info)},
    {"switch_p_free_node_info", offsetof(SwitchFunctions, free_node_info)},
    {"switch_p_sprintf_node_info", offsetof(SwitchFunctions, sprintf_node_info)},
    {"switch_p_job_step_complete", offsetof(SwitchFunctions, job_step_complete)},
};
static_assert(std::size(kSwitchRequired) == 29);

constexpr SymbolSlot kSwitchOptional[] = {
    {"switch_p_libstate_restore", offsetof(SwitchFunctions, libstate_restore_late)},
    {"switch_p_build_jobinfo", offsetof(SwitchFunctions, build_jobinfo_network)},
    {"switch_p_build_jobinfo", offsetof(SwitchFunctions, build_jobinfo_counts)},
    {"switch_p_get_data_jobinfo", offsetof(SwitchFunctions, get_data_jobinfo)},
    {"switch_p_job_step_allocated", offsetof(SwitchFunctions, job_step_allocated)},
    {"switch_p_libstate_clear", offsetof(SwitchFunctions, libstate_clear)},
    {"switch_p_slurmctld_init", offsetof(SwitchFunctions, slurmctld_init)},
    {"switch_p_slurmd_init", offsetof(SwitchFunctions, slurmd_init)},
    {"switch_p_slurmd_step_init", offsetof(SwitchFunctions, slurmd_step_init)},
    {"switch_p_job_step_part_comp", offsetof(SwitchFunctions, job_step_part_comp)},
    {"switch_p_part_comp", offsetof(SwitchFunctions, part_comp)},
};

constexpr SymbolSlot kProctrackRequired[] = {
    {"slurm_container_plugin_create", offsetof(ProctrackFunctions, create)},
    {"slurm_container_plugin_add", offsetof(ProctrackFunctions, add)},
    {"slurm_container_plugin_signal", offsetof(ProctrackFunctions, signal)},
    {"slurm_container_plugin_destroy", offsetof(ProctrackFunctions, destroy)},
    {"slurm_container_plugin_find", offsetof(ProctrackFunctions, find)},
    {"slurm_container_plugin_has_pid", offsetof(ProctrackFunctions, has_pid)},
    {"slurm_container_plugin_wait", offsetof(ProctrackFunctions, wait)},
    {"slurm_container_plugin_get_pids", offsetof(ProctrackFunctions, get_pids)},
};
// clang-format on

constexpr const char* kProctrackAlso[] = {
    "proctrack_p_create", "proctrack_p_add",     "proctrack_p_signal", "proctrack_p_destroy",
    "proctrack_p_find",   "proctrack_p_has_pid", "proctrack_p_wait",   "proctrack_p_get_pids"};

constexpr SymbolSlot kContainerRequired[] = {
    {"container_p_create", offsetof(JobContainerFunctions, create)},
    {"container_p_add_cont", offsetof(JobContainerFunctions, add_cont)},
    {"container_p_join", offsetof(JobContainerFunctions, join)},
    {"container_p_delete", offsetof(JobContainerFunctions, remove)},
    {"container_p_restore", offsetof(JobContainerFunctions, restore)},
    {"container_p_reconfig", offsetof(JobContainerFunctions, reconfig)},
};

constexpr SymbolSlot kContainerOptional[] = {
    {"container_p_add_pid", offsetof(JobContainerFunctions, add_pid)},
    {"container_p_join_external", offsetof(JobContainerFunctions, join_external)},
    {"container_p_stepd_create", offsetof(JobContainerFunctions, stepd_create)},
    {"container_p_stepd_delete", offsetof(JobContainerFunctions, stepd_delete)},
};

constexpr SymbolSlot kCoreSpecRequired[] = {
    {"core_spec_p_set", offsetof(CoreSpecFunctions, set)},
    {"core_spec_p_clear", offsetof(CoreSpecFunctions, clear)},
    {"core_spec_p_suspend", offsetof(CoreSpecFunctions, suspend)},
    {"core_spec_p_resume", offsetof(CoreSpecFunctions, resume)},
};

constexpr SymbolSlot kJobAcctRequired[] = {
    {"slurmctld_jobacct_init", offsetof(JobAcctFunctions, controller_init)},
    {"slurmctld_jobacct_job_complete", offsetof(JobAcctFunctions, job_complete)},
    {"slurmctld_jobacct_job_start", offsetof(JobAcctFunctions, job_start)},
    {"slurm_jobacct_process_message", offsetof(JobAcctFunctions, process_message)},
    {"slurmd_jobacct_init", offsetof(JobAcctFunctions, node_init)},
    {"slurmd_jobacct_jobstep_launched", offsetof(JobAcctFunctions, jobstep_launched)},
    {"slurmd_jobacct_jobstep_terminated", offsetof(JobAcctFunctions, jobstep_terminated)},
    {"slurmd_jobacct_smgr", offsetof(JobAcctFunctions, smgr)},
    {"slurmd_jobacct_task_exit", offsetof(JobAcctFunctions, task_exit)},
};

// Versions of the documents' own era are small numbers that no daemon compared (0, 7, 90, 91 and
// 100 all loaded). Later values are release numbers, major << 16 | minor << 8 | micro: taken only
// while the release's calls are those of the document.
constexpr VersionRange kDocumentVersions = {0, 0xffff};
constexpr VersionRange kSwitchVersions[] = {kDocumentVersions};
constexpr VersionRange kJobAcctVersions[] = {kDocumentVersions};
constexpr VersionRange kProctrackVersions[] = {kDocumentVersions, {0x0e0300, 0x180bff}};
constexpr VersionRange kContainerVersions[] = {kDocumentVersions, {0x0e0300, 0x1605ff}};
constexpr VersionRange kCoreSpecVersions[] = {kDocumentVersions, {0x0e0b00, 0x1702ff}};

constexpr std::array<FamilyTable, kFamilyCount> kFamilies = {{
    {Family::interconnect,
     "switch",
     "SwitchType",
     sizeof(SwitchFunctions),
     kSwitchRequired,
     kSwitchOptional,
     {},
     true,
     kSwitchVersions},
    {Family::proctrack,
     "proctrack",
     "ProctrackType",
     sizeof(ProctrackFunctions),
     kProctrackRequired,
     {},
     kProctrackAlso,
     true,
     kProctrackVersions},
    {Family::job_container,
     "job_container",
     "JobContainerType",
     sizeof(JobContainerFunctions),
     kContainerRequired,
     kContainerOptional,
     {},
     false,
     kContainerVersions},
    {Family::core_spec,
     "core_spec",
     "CoreSpecPlugin",
     sizeof(CoreSpecFunctions),
     kCoreSpecRequired,
     {},
     {},
     false,
     kCoreSpecVersions},
    {Family::jobacct,
     "jobacct",
     "JobAcctType",
     sizeof(JobAcctFunctions),
     kJobAcctRequired,
     {},
     {},
     true,
     kJobAcctVersions},
}};

}  // namespace

std::span<const char* const> identity_symbols() noexcept { return kIdentity; }

std::span<const FamilyTable> families() noexcept { return kFamilies; }

const FamilyTable& table_of(Family family) noexcept {
  return kFamilies[static_cast<std::size_t>(family)];
}

const FamilyTable* find_family(std::string_view major) noexcept {
  for (const FamilyTable& table : kFamilies) {
    if (table.major == major) return &table;
  }
  return nullptr;
}

}  // namespace hal::host
