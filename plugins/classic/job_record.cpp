// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/job_record.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "plugins/classic/memory.h"
#include "plugins/classic/record_reader.h"

namespace hal::classic {
namespace {

/// One generation of the job record on amd64. Source: classic ABI sheet 5.2.
struct JobLayoutRow {
  const char* releases;
  std::uint16_t size;
  Offset task_count, start, end, priority, details;
};

constexpr std::array kRows{
    // clang-format off
    //           releases          size tasks start  end  prio details
    JobLayoutRow{"0.5",             528,  352,  360, 368,  384,  392},
    JobLayoutRow{"1.0.0 to 1.0.15", 560,  352,  360, 368,  400,  408},
    JobLayoutRow{"1.0.16, 1.0.17",  568,  360,  368, 376,  408,  416},
    // clang-format on
};

// The same in all three.
constexpr Offset kJobId = 0;
constexpr Offset kName = 8;
constexpr std::size_t kNameSize = 256;
constexpr Offset kPartition = 264;
constexpr std::size_t kPartitionSize = 32;
constexpr Offset kBatch = 304;
constexpr Offset kUser = 308;
constexpr Offset kGroup = 312;
constexpr Offset kState = 316;
constexpr Offset kNodes = 336;
constexpr Offset kDetailsSubmitTime = 112;

constexpr std::size_t kMaxNodesText = std::size_t{1} << 20;

std::string read_text(const void* record, Offset offset, std::size_t size) {
  const auto* text = static_cast<const char*>(record) + offset;
  return {text, ::strnlen(text, size)};
}

std::string read_pointed_text(const void* record, Offset offset) {
  const auto* text = read_member<const char*>(record, offset);
  return text != nullptr ? std::string(text, ::strnlen(text, kMaxNodesText)) : std::string();
}

Result<const JobLayoutRow*> find_row(const job_record* record) {
  if (record == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "the host passed no job record");
  }
  const auto block = find_block(record);
  for (const JobLayoutRow& row : kRows) {
    if (block && block->size == row.size) return &row;
  }
  return fail(Errc::unsupported, ENOTSUP,
              "the host's job record of " +
                  (block ? std::to_string(block->size) : std::string("unknown")) +
                  " bytes is of an unknown layout: the job is not recorded");
}

/// Layout of a message on the wire side. Source: classic ABI sheet 5.3.
constexpr Offset kMessageType = 0;
constexpr Offset kMessageData = 32;
constexpr std::uint32_t kAccountingData = 8003;
constexpr Offset kDataLength = 0;
constexpr Offset kDataBytes = 8;

}  // namespace

Result<JobFacts> read_job(const job_record* record) {
  const auto found = find_row(record);
  if (!found) return propagate(Result<const JobLayoutRow*>(found));
  const JobLayoutRow& row = **found;
  JobFacts facts;
  facts.job = JobId{read_member<std::uint32_t>(record, kJobId)};
  facts.owner = read_member<std::uint32_t>(record, kUser);
  facts.group = read_member<std::uint32_t>(record, kGroup);
  facts.name = read_text(record, kName, kNameSize);
  facts.partition = read_text(record, kPartition, kPartitionSize);
  facts.nodes = read_pointed_text(record, kNodes);
  facts.state = read_member<std::uint32_t>(record, kState);
  facts.priority = read_member<std::uint32_t>(record, row.priority);
  facts.task_count = read_member<std::uint32_t>(record, row.task_count);
  facts.batch = read_member<std::uint16_t>(record, kBatch) != 0;
  facts.started = read_member<std::time_t>(record, row.start);
  facts.ended = read_member<std::time_t>(record, row.end);
  const auto* details = read_member<const void*>(record, row.details);
  if (details != nullptr) facts.submitted = read_member<std::time_t>(details, kDetailsSubmitTime);
  return facts;
}

Result<std::span<const std::byte>> read_message(const slurm_msg* message) {
  if (message == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "the host passed no message");
  }
  const auto type = read_member<std::uint32_t>(message, kMessageType) & 0xffffU;
  if (type != kAccountingData) {
    return fail(Errc::invalid_argument, EINVAL,
                "message of type " + std::to_string(type) + " is not one of accounting");
  }
  const auto* data = read_member<const void*>(message, kMessageData);
  const auto* bytes = data != nullptr ? read_member<const std::byte*>(data, kDataBytes) : nullptr;
  if (bytes == nullptr) return fail(Errc::corrupt, EBADMSG, "accounting message without data");
  return std::span(bytes, read_member<std::uint16_t>(data, kDataLength));
}

}  // namespace hal::classic
