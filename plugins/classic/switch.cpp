// SPDX-License-Identifier: BSD-3-Clause
// Switch face: global state, credentials and errors.
#include <cerrno>
#include <string>

#include "plugins/classic/host.h"
#include "plugins/classic/switch_face.h"

using namespace hal;           // NOLINT(google-build-using-namespace): thin C entry points
using namespace hal::classic;  // NOLINT(google-build-using-namespace)
using plugin::SwitchEra;

namespace {

Failure no_place(const char* what) {
  return fail(Errc::invalid_argument, EINVAL, std::string("the host gave no ") + what);
}

bool flag_of(int argument) noexcept { return (argument & 0xff) != 0; }  // a C bool in a register

/// Arguments that hosts of earlier years do not pass hold garbage and are not read.
plugin::Restore restore_request(SwitchEra era, const char* directory, int recover) {
  plugin::Restore request;
  if (directory != nullptr) request.directory = directory;
  request.steps_follow = era >= SwitchEra::v0_6;
  request.recover = request.steps_follow ? flag_of(recover) : directory != nullptr;
  return request;
}

plugin::StepRequest step_request(SwitchEra era, const char* nodes, intptr_t tasks, int cyclic) {
  plugin::StepRequest request{.nodes = text_of(nodes), .tasks = 0U, .cyclic = cyclic != 0};
  if (era >= SwitchEra::v0_6) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): later hosts pass an array in the count's place
    request.tasks = reinterpret_cast<const int*>(tasks);
  } else {
    const auto count = static_cast<std::int32_t>(tasks);
    request.tasks = count > 0 ? static_cast<std::uint32_t>(count) : 0U;
  }
  return request;
}

}  // namespace

int switch_p_libstate_save(char* dir_name) {
  return call("libstate_save", [&](SwitchService& service) -> Result<> {
    if (dir_name == nullptr) return no_place("directory to save to");
    return service.save(dir_name);
  });
}

int switch_p_libstate_restore(char* dir_name, int recover) {
  return call("libstate_restore", [&](SwitchService& service) {
    return service.restore(restore_request(service.era(), dir_name, recover));
  });
}

int switch_p_libstate_clear(void) {
  return call("libstate_clear", [](SwitchService& service) { return service.clear_grants(); });
}

bool switch_p_no_frag(void) {
  return plugin::call_or<SwitchService>(
      "no_frag", false, [](SwitchService& service) { return service.delays_scheduling(); });
}

int switch_p_alloc_jobinfo(switch_jobinfo_t* switch_job) {
  return call("alloc_jobinfo", [&](SwitchService& service) -> Result<> {
    if (switch_job == nullptr) return no_place("place for the credential");
    *switch_job = service.make_credential();
    return {};
  });
}

int switch_p_build_jobinfo(switch_jobinfo_t switch_job, char* nodelist, intptr_t tasks, int cyclic,
                           char* /*network*/) {
  return call_job("build_jobinfo", switch_job, [&](SwitchService& service, JobInfo* job) {
    return service.build(job, step_request(service.era(), nodelist, tasks, cyclic));
  });
}

switch_jobinfo_t switch_p_copy_jobinfo(switch_jobinfo_t switch_job) {
  return call_or<JobInfo, JobInfo*>(
      "copy_jobinfo", nullptr, switch_job,
      [](SwitchService& service, const JobInfo* job) { return service.copy(job); });
}

void switch_p_free_jobinfo(switch_jobinfo_t switch_job) {
  (void)call("free_jobinfo", [&](SwitchService& service) {
    return JobInfo::from(switch_job).transform([&](JobInfo* job) { service.free(job); });
  });
}

int switch_p_pack_jobinfo(switch_jobinfo_t switch_job, Buf buffer) {
  return call_job("pack_jobinfo", switch_job, [&](SwitchService& service, const JobInfo* job) {
    const auto bytes = service.encode(job);
    return append(buffer, bytes).transform([&] { return static_cast<int>(bytes.size()); });
  });
}

int switch_p_unpack_jobinfo(switch_jobinfo_t switch_job, Buf buffer) {
  return call_job("unpack_jobinfo", switch_job, [&](SwitchService& service, JobInfo* job) {
    return unread(buffer)
        .and_then([&](std::span<const std::byte> bytes) { return service.decode(job, bytes); })
        .transform([&](std::size_t used) { consume(buffer, used); });
  });
}

int switch_p_get_jobinfo(switch_jobinfo_t switch_job, int data_type, void* data) {
  return call_job("get_jobinfo", switch_job, [&](SwitchService& service, const JobInfo* job) {
    return service.query(job, data_type, data);
  });
}

int switch_p_get_data_jobinfo(switch_jobinfo_t switch_job, int key, void* resulting_data) {
  return call_job("get_data_jobinfo", switch_job, [&](SwitchService& service, const JobInfo* job) {
    return service.query(job, key, resulting_data);
  });
}

int switch_p_job_step_complete(switch_jobinfo_t switch_job, char* /*nodelist*/) {
  return call_job("job_step_complete", switch_job,
                  [](SwitchService& service, JobInfo* job) { return service.step_complete(job); });
}

int switch_p_job_step_part_comp(switch_jobinfo_t switch_job, char* /*nodelist*/) {
  return call_job("job_step_part_comp", switch_job,
                  [](SwitchService&, JobInfo*) -> Result<> { return {}; });
}

bool switch_p_part_comp(void) { return false; }

int switch_p_job_step_allocated(switch_jobinfo_t switch_job, char* /*nodelist*/) {
  return call_job("job_step_allocated", switch_job,
                  [](SwitchService& service, JobInfo* job) { return service.step_allocated(job); });
}

void switch_p_print_jobinfo(FILE* fp, switch_jobinfo_t switch_job) {
  (void)call_job("print_jobinfo", switch_job,
                 [&](SwitchService& service, const JobInfo* job) -> Result<> {
                   if (fp == nullptr) return no_place("file to print to");
                   (void)std::fputs(service.describe_long(job).c_str(), fp);
                   return {};
                 });
}

char* switch_p_sprint_jobinfo(switch_jobinfo_t switch_job, char* buf, size_t size) {
  (void)copy_text(buf, size, "unreadable credential");  // stays there if the call fails
  return call_or<JobInfo>("sprint_jobinfo", size > 0 ? buf : nullptr, switch_job,
                          [&](SwitchService& service, const JobInfo* job) -> Result<char*> {
                            return copy_text(buf, size, service.describe(job));
                          });
}

int switch_p_get_errno(void) {
  const int code = plugin::last_error();
  return code >= 3000 && code <= 3099 ? code : 0;
}

char* switch_p_strerror(int errnum) {
  return plugin::call_or<SwitchService, char*>(
      "strerror", nullptr, [&](const SwitchService& service) -> Result<char*> {
        return const_cast<char*>(service.describe_error(errnum));
      });
}
