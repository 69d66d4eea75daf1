// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plugins/classic/switch_api.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::test {

/// A switch plugin with its functions, found by name in the opened file.
struct SwitchPlugin : LoadedPlugin {
  using LoadedPlugin::LoadedPlugin;

  decltype(&switch_p_libstate_save) libstate_save =
      get<decltype(&switch_p_libstate_save)>("switch_p_libstate_save");
  decltype(&switch_p_libstate_restore) libstate_restore =
      get<decltype(&switch_p_libstate_restore)>("switch_p_libstate_restore");
  decltype(&switch_p_no_frag) no_frag = get<decltype(&switch_p_no_frag)>("switch_p_no_frag");
  decltype(&switch_p_alloc_jobinfo) alloc_jobinfo =
      get<decltype(&switch_p_alloc_jobinfo)>("switch_p_alloc_jobinfo");
  decltype(&switch_p_build_jobinfo) build_jobinfo =
      get<decltype(&switch_p_build_jobinfo)>("switch_p_build_jobinfo");
  decltype(&switch_p_copy_jobinfo) copy_jobinfo =
      get<decltype(&switch_p_copy_jobinfo)>("switch_p_copy_jobinfo");
  decltype(&switch_p_free_jobinfo) free_jobinfo =
      get<decltype(&switch_p_free_jobinfo)>("switch_p_free_jobinfo");
  decltype(&switch_p_pack_jobinfo) pack_jobinfo =
      get<decltype(&switch_p_pack_jobinfo)>("switch_p_pack_jobinfo");
  decltype(&switch_p_unpack_jobinfo) unpack_jobinfo =
      get<decltype(&switch_p_unpack_jobinfo)>("switch_p_unpack_jobinfo");
  decltype(&switch_p_get_jobinfo) get_jobinfo =
      get<decltype(&switch_p_get_jobinfo)>("switch_p_get_jobinfo");
  decltype(&switch_p_print_jobinfo) print_jobinfo =
      get<decltype(&switch_p_print_jobinfo)>("switch_p_print_jobinfo");
  decltype(&switch_p_sprint_jobinfo) sprint_jobinfo =
      get<decltype(&switch_p_sprint_jobinfo)>("switch_p_sprint_jobinfo");
  decltype(&switch_p_node_init) node_init =
      get<decltype(&switch_p_node_init)>("switch_p_node_init");
  decltype(&switch_p_node_fini) node_fini =
      get<decltype(&switch_p_node_fini)>("switch_p_node_fini");
  decltype(&switch_p_job_preinit) job_preinit =
      get<decltype(&switch_p_job_preinit)>("switch_p_job_preinit");
  decltype(&switch_p_job_init) job_init = get<decltype(&switch_p_job_init)>("switch_p_job_init");
  decltype(&switch_p_job_fini) job_fini = get<decltype(&switch_p_job_fini)>("switch_p_job_fini");
  decltype(&switch_p_job_postfini) job_postfini =
      get<decltype(&switch_p_job_postfini)>("switch_p_job_postfini");
  decltype(&switch_p_job_attach) job_attach =
      get<decltype(&switch_p_job_attach)>("switch_p_job_attach");
  decltype(&switch_p_strerror) error_text = get<decltype(&switch_p_strerror)>("switch_p_strerror");
  decltype(&switch_p_get_errno) error_number =
      get<decltype(&switch_p_get_errno)>("switch_p_get_errno");
  decltype(&switch_p_clear_node_state) clear_node_state =
      get<decltype(&switch_p_clear_node_state)>("switch_p_clear_node_state");
  decltype(&switch_p_alloc_node_info) alloc_node_info =
      get<decltype(&switch_p_alloc_node_info)>("switch_p_alloc_node_info");
  decltype(&switch_p_build_node_info) build_node_info =
      get<decltype(&switch_p_build_node_info)>("switch_p_build_node_info");
  decltype(&switch_p_pack_node_info) pack_node_info =
      get<decltype(&switch_p_pack_node_info)>("switch_p_pack_node_info");
  decltype(&switch_p_unpack_node_info) unpack_node_info =
      get<decltype(&switch_p_unpack_node_info)>("switch_p_unpack_node_info");
  decltype(&switch_p_free_node_info) free_node_info =
      get<decltype(&switch_p_free_node_info)>("switch_p_free_node_info");
  decltype(&switch_p_sprintf_node_info) sprintf_node_info =
      get<decltype(&switch_p_sprintf_node_info)>("switch_p_sprintf_node_info");
  decltype(&switch_p_job_step_complete) job_step_complete =
      get<decltype(&switch_p_job_step_complete)>("switch_p_job_step_complete");
  decltype(&switch_p_get_data_jobinfo) get_data_jobinfo =
      get<decltype(&switch_p_get_data_jobinfo)>("switch_p_get_data_jobinfo");
  decltype(&switch_p_job_step_allocated) job_step_allocated =
      get<decltype(&switch_p_job_step_allocated)>("switch_p_job_step_allocated");
  decltype(&switch_p_libstate_clear) libstate_clear =
      get<decltype(&switch_p_libstate_clear)>("switch_p_libstate_clear");
  decltype(&switch_p_slurmctld_init) slurmctld_init =
      get<decltype(&switch_p_slurmctld_init)>("switch_p_slurmctld_init");
  decltype(&switch_p_slurmd_init) slurmd_init =
      get<decltype(&switch_p_slurmd_init)>("switch_p_slurmd_init");
  decltype(&switch_p_slurmd_step_init) slurmd_step_init =
      get<decltype(&switch_p_slurmd_step_init)>("switch_p_slurmd_step_init");
  decltype(&switch_p_job_step_part_comp) job_step_part_comp =
      get<decltype(&switch_p_job_step_part_comp)>("switch_p_job_step_part_comp");
  decltype(&switch_p_part_comp) part_comp =
      get<decltype(&switch_p_part_comp)>("switch_p_part_comp");

  [[nodiscard]] switch_jobinfo_t allocate() const {
    switch_jobinfo_t job = nullptr;
    EXPECT_EQ(alloc_jobinfo(&job), 0);
    return job;
  }

  /// An allocated and built credential. The era of the host must be 4 or 5.
  [[nodiscard]] switch_jobinfo_t built(std::string nodes, int tasks, int cyclic = 0) const {
    switch_jobinfo_t job = allocate();
    EXPECT_EQ(build_jobinfo(job, nodes.data(), tasks, cyclic, nullptr), 0);
    return job;
  }

  [[nodiscard]] std::vector<std::byte> packed(switch_jobinfo_t job) const {
    TestBuffer buffer;
    const int size = pack_jobinfo(job, buffer.get());
    EXPECT_EQ(size, static_cast<int>(buffer.processed()));
    return buffer.content();
  }

  [[nodiscard]] switch_jobinfo_t unpacked(std::span<const std::byte> bytes) const {
    switch_jobinfo_t job = allocate();
    TestBuffer buffer(bytes);
    EXPECT_EQ(unpack_jobinfo(job, buffer.get()), 0);
    EXPECT_EQ(buffer.processed(), bytes.size());
    return job;
  }
};

}  // namespace hal::test
