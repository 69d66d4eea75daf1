// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/step_record.h"

#include <array>
#include <cerrno>
#include <limits>
#include <unistd.h>

#include "plugins/classic/record_reader.h"

namespace hal::classic {
namespace {

/// One generation of the step record on amd64. Source: classic ABI sheet 5.1.
struct StepLayoutRow {
  const char* releases;
  std::uint16_t size;
  Offset job, step, node_index, local_tasks, uid, gid, batch, manager_pid, process_group;
  Offset container;
  std::uint8_t container_bytes;
  Offset session_status;
};

constexpr Offset kNo = kAbsent;

constexpr std::array kRows{
    // clang-format off
    //             releases            size  job step node task  uid  gid batch mgr  pgid cont  b  status
    StepLayoutRow{"0.4.6",              160,   0,   4,  16,  20,  64,  68,  72, 136,  kNo,  kNo, 0, 144},
    StepLayoutRow{"0.5.0",              168,   0,   4,  16,  20,  64,  68,  72, 136,  kNo,  kNo, 0, 144},
    StepLayoutRow{"1.0",                304,   4,   8,  20,  24,  88,  92, 112, 264,  268,  288, 4, kNo},
    StepLayoutRow{"2.3.0 to 2.3.3",     432,   4,   8,  20,  24, 128, 132, 153, 304,  308,  328, 8, kNo},
    StepLayoutRow{"2.3.4 to 2.4",       440,   4,   8,  20,  24, 136, 140, 161, 312,  316,  336, 8, kNo},
    StepLayoutRow{"2.5",                448,   4,   8,  20,  24, 144, 148, 169, 320,  324,  344, 8, kNo},
    StepLayoutRow{"2.6",                464,   4,   8,  28,  32, 152, 156, 177, 336,  340,  360, 8, kNo},
    StepLayoutRow{"14.11",              496,   4,   8,  28,  32, 160, 176, 193, 344,  348,  368, 8, kNo},
    StepLayoutRow{"15.08.0 to 15.08.8", 504,   4,   8, kNo, kNo, kNo, kNo, kNo, 352,  356,  376, 8, kNo},
    StepLayoutRow{"15.08.9 to 15.08.13",592,  96, 100, 120, 124, 256, 272, 289, 440,  444,  464, 8, kNo},
    StepLayoutRow{"19.05",              760,  96, 100, 120, 128, 328, 368, 393, 536,  540,  560, 8, kNo},
    StepLayoutRow{"22.05",              768, 112, 120, 140, 144, 352, 392, 417, 560,  564,  584, 8, kNo},
    // clang-format on
};

constexpr uid_t kUnknownUser = std::numeric_limits<uid_t>::max();

Failure unknown(std::string_view why) {
  return fail(Errc::unsupported, ENOTSUP,
              "the host's step record is of an unknown layout (" + std::string(why) +
                  "): this release is not supported by this plugin, nothing was changed");
}

bool plausible(pid_t manager_pid, Manager manager) noexcept {
  if (manager == Manager::any) return true;
  if (manager_pid == ::getpid()) return true;
  return manager == Manager::self_or_parent && manager_pid == ::getppid();
}

Result<const StepLayoutRow*> find_row(const void* record, Manager manager) {
  if (record == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "the host passed no step record");
  }
  const auto block = find_block(record);
  if (!block) return unknown("it has no allocator header");
  for (const StepLayoutRow& row : kRows) {
    if (row.size != block->size) continue;
    const auto pid = read_member<std::int32_t>(record, row.manager_pid);
    if (plausible(pid, manager)) return &row;
    return unknown("size " + std::to_string(row.size) + " is that of " + row.releases +
                   ", but its manager pid " + std::to_string(pid) + " is not the caller's");
  }
  return unknown("size " + std::to_string(block->size));
}

std::uint64_t read_container(const void* record, const StepLayoutRow& row) noexcept {
  if (row.container_bytes == 4) return read_member<std::uint32_t>(record, row.container);
  return read_member<std::uint64_t>(record, row.container);
}

}  // namespace

Result<plugin::StepRecord> read_step(const slurmd_job_t* record, Manager manager) {
  const auto found = find_row(record, manager);
  if (!found) return propagate(Result<const StepLayoutRow*>(found));
  const StepLayoutRow& row = **found;
  plugin::StepRecord copy;
  copy.step.job = JobId{read_member<std::uint32_t>(record, row.job)};
  copy.step.step = StepId{read_member<std::uint32_t>(record, row.step)};
  copy.step.owner = read_member<std::uint32_t>(record, row.uid, kUnknownUser);
  copy.step.group = read_member<std::uint32_t>(record, row.gid, kUnknownUser);
  copy.step.manager_pid = read_member<std::int32_t>(record, row.manager_pid);
  copy.step.process_group = read_member<std::int32_t>(record, row.process_group);
  copy.step.node_index = read_member<std::uint32_t>(record, row.node_index);
  copy.step.task_count = read_member<std::uint32_t>(record, row.local_tasks);
  copy.container = ContainerId{read_container(record, row)};
  copy.batch = read_member<std::uint8_t>(record, row.batch) != 0;
  copy.session_status = read_member<std::int32_t>(record, row.session_status, -1);
  return copy;
}

Result<> write_container(slurmd_job_t* record, ContainerId container) {
  const auto found = find_row(record, Manager::self);
  if (!found) return propagate(Result<const StepLayoutRow*>(found));
  const StepLayoutRow& row = **found;
  if (row.container == kAbsent) {
    return unknown(std::string("the record of ") + row.releases + " has no container id");
  }
  auto* member = reinterpret_cast<std::byte*>(record) + row.container;
  const std::uint64_t id = to_number(container);
  if (row.container_bytes == 4) {
    if (id > std::numeric_limits<std::uint32_t>::max()) {
      return fail(Errc::exhausted, EOVERFLOW,
                  "container id " + std::to_string(id) + " does not fit the 32 bits that " +
                      row.releases + " keeps for it");
    }
    const auto narrow = static_cast<std::uint32_t>(id);
    std::memcpy(member, &narrow, sizeof narrow);
  } else {
    std::memcpy(member, &id, sizeof id);
  }
  return {};
}

HeaderForm header_form(const slurmd_job_t* record) noexcept {
  const auto block = find_block(record);
  return block ? block->form : HeaderForm::two_ints;
}

}  // namespace hal::classic
