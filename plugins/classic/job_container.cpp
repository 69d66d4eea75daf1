// SPDX-License-Identifier: BSD-3-Clause
#include "hal/job_container.h"

#include <cerrno>
#include <limits>

#include "plugins/classic/host.h"
#include "plugins/classic/job_container_api.h"
#include "plugins/role_service.h"

using namespace hal;  // NOLINT(google-build-using-namespace): thin C entry points

namespace {

using ContainerService = plugin::RoleService<JobContainer, &BackendDescriptor::make_job_container>;

constexpr uid_t kOwnerNotTold = std::numeric_limits<uid_t>::max();

template <class Body>
int call(const char* name, Body&& body) noexcept {
  return plugin::call<ContainerService>(
      name, [&](ContainerService& service) { return body(service.role()); });
}

}  // namespace

Result<std::unique_ptr<plugin::Service>> plugin::make_service(const HostSymbols& symbols,
                                                              BoundBackend bound) {
  return make_opened<ContainerService>(symbols, std::move(bound));
}

int container_p_create(uint32_t job_id) {
  return call("create",
              [&](JobContainer& role) { return role.create(JobId{job_id}, kOwnerNotTold); });
}

int container_p_add_cont(uint32_t job_id, uint64_t cont_id) {
  return call("add_cont", [&](JobContainer& role) {
    return role.add_aggregate(JobId{job_id}, ContainerId{cont_id});
  });
}

int container_p_add_pid(uint32_t job_id, pid_t pid, uid_t uid) {
  return call("add_pid",
              [&](JobContainer& role) { return role.add_process(JobId{job_id}, pid, uid); });
}

int container_p_join(uint32_t job_id, uid_t uid) {
  return call("join", [&](JobContainer& role) {
    return job_id == 0 ? Result<>{} : role.join(JobId{job_id}, uid);
  });
}

int container_p_join_external(uint32_t job_id) {
  return call("join_external", [&](JobContainer&) -> Result<> {
    return fail(Errc::unsupported, ENOSYS,
                "job " + std::to_string(job_id) + " cannot be joined from outside");
  });
}

int container_p_delete(uint32_t job_id) {
  return call("delete", [&](JobContainer& role) { return role.destroy(JobId{job_id}); });
}

int container_p_restore(char* dir_name, bool recover) {
  return call("restore", [&](JobContainer& role) {
    return role.recover(std::string(classic::text_of(dir_name)), recover);
  });
}

void container_p_reconfig(void) {
  (void)call("reconfig", [](JobContainer& role) -> Result<> {
    role.reconfigure();
    return {};
  });
}

int container_p_stepd_create(uint32_t job_id, uid_t uid) {
  return call("stepd_create", [&](JobContainer& role) { return role.create(JobId{job_id}, uid); });
}

int container_p_stepd_delete(uint32_t /*job_id*/) {
  return call("stepd_delete", [](JobContainer&) -> Result<> { return {}; });
}
