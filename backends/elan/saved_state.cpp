// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/saved_state.h"

#include <algorithm>
#include <optional>
#include <string>

#include "backends/elan/capability.h"
#include "hal/bytes.h"

namespace hal::elan {
namespace {

constexpr std::uint32_t kStateMagic = 0xF00FF00F;
constexpr std::string_view kVersion{"VER002\0", 7};
constexpr std::string_view kOldVersion{"VER001\0", 7};
constexpr std::size_t kV0Size = 12;
constexpr std::size_t kLongestVersion = 32;

Failure damaged(const std::string& reason) {
  return fail(Errc::corrupt, kBadMagicLibState, "Elan switch state: " + reason);
}

bool is_program(std::uint32_t number) { return number >= 1 && number <= kMaxProgram; }

AllocationState empty_state(std::uint32_t next_program) {
  return {RangeAllocator(kContextCount), next_program};
}

/// A reader whose failures are all the same answer: truncated.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : reader_(bytes) {}

  std::uint32_t u32() { return keep(reader_.u32()); }
  std::uint16_t u16() { return keep(reader_.u16()); }
  [[nodiscard]] bool truncated() const { return truncated_; }
  [[nodiscard]] std::size_t remaining() const { return truncated_ ? 0 : reader_.remaining(); }

 private:
  template <class T>
  T keep(Result<T>&& value) {
    if (!value) truncated_ = true;
    return value.value_or(T{});
  }

  ByteReader reader_;
  bool truncated_ = false;
};

Result<> reserve(AllocationState& state, std::uint32_t program, std::uint32_t low,
                 std::uint32_t high, NodeSet nodes) {
  if (!is_program(program) || low > high || high >= kContextCount) {
    return damaged("grant " + std::to_string(program) + " of contexts " + std::to_string(low) +
                   ".." + std::to_string(high) + " is out of range");
  }
  if (state.contexts.find(program) != nullptr) {
    return damaged("program " + std::to_string(program) + " twice");
  }
  auto reserved = state.contexts.reserve(program, {std::move(nodes), low, high - low + 1});
  if (!reserved) return damaged(reserved.error().detail);
  return {};
}

Result<> read_grant(Fields& fields, AllocationState& state) {
  const std::uint32_t program = fields.u32();
  const std::uint32_t low = fields.u32();
  const std::uint32_t high = fields.u32();
  const std::uint32_t count = fields.u32();
  if (count > fields.remaining() / 8) return damaged("truncated");
  std::vector<NodeSet::Interval> intervals(count);
  for (auto& interval : intervals) {
    interval.first = fields.u32();
    interval.last = fields.u32();
    if (interval.first > interval.last || interval.last > kMaxElanId) {
      return damaged("node range out of order");
    }
  }
  return reserve(state, program, low, high, NodeSet(std::move(intervals)));
}

Result<AllocationState> decode_present(std::span<const std::byte> bytes, std::size_t start) {
  if (bytes.size() < start + 4) return damaged("truncated");
  const auto body = bytes.first(bytes.size() - 4);
  if (Fields(bytes.last(4)).u32() != crc32c(body)) return damaged("wrong checksum");
  Fields fields(body.subspan(start));
  if (fields.u32() != kStateMagic) return damaged("wrong magic");
  auto state = empty_state(fields.u32());
  const std::uint32_t cursor = fields.u32();
  const std::uint32_t count = fields.u32();
  if (fields.truncated()) return damaged("truncated");
  if (!is_program(state.next_program) || cursor >= kContextCount) {
    return damaged("next program or context out of range");
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (auto read = read_grant(fields, state); !read) return propagate(std::move(read));
    if (fields.truncated()) return damaged("truncated");
  }
  if (fields.remaining() != 0) return damaged("extra bytes");
  state.contexts.set_cursor(cursor);
  return state;
}

Result<AllocationState> decode_ver001(std::span<const std::byte> bytes) {
  Fields fields(bytes);
  const std::uint32_t magic = fields.u32();
  auto state = empty_state(fields.u32());
  const std::uint16_t count = fields.u16();
  if (fields.truncated()) return damaged("truncated");
  if (magic != kStateMagic) return damaged("wrong magic");
  if (!is_program(state.next_program)) return damaged("next program out of range");
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t program = fields.u32();
    const std::uint32_t low = fields.u32();
    const std::uint32_t high = fields.u32();
    const NodeSet::Interval nodes{fields.u16(), fields.u16()};
    if (fields.truncated()) return damaged("truncated");
    if (nodes.first > nodes.last || nodes.last > kMaxElanId) return damaged("bad node range");
    auto reserved = reserve(state, program, low, high, NodeSet({nodes}));
    if (!reserved) return propagate(std::move(reserved));
  }
  if (fields.remaining() != 0) return damaged("extra bytes");
  return state;
}

Result<AllocationState> decode_v0(std::span<const std::byte> bytes) {
  Fields fields(bytes);
  fields.u32();  // the magic, by which this form was recognised
  auto state = empty_state(fields.u32());
  const std::uint32_t context = fields.u32();
  if (!is_program(state.next_program) || context < kFirstContext ||
      context > kFirstContext + kContextCount) {
    return damaged("next program or context out of range");
  }
  state.contexts.set_cursor(context - kFirstContext);
  return state;
}

/// The text of a version string with a length prefix of `prefix` bytes, NUL included.
std::optional<std::string> version_at(std::span<const std::byte> bytes, std::size_t prefix) {
  Fields fields(bytes);
  const std::uint32_t size = prefix == 2 ? fields.u16() : fields.u32();
  if (fields.truncated() || size < 2 || size > kLongestVersion || size > fields.remaining()) {
    return std::nullopt;
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + prefix;
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::all_of(text, text + size - 1, printable) || text[size - 1] != '\0') return std::nullopt;
  return std::string(text, size);
}

void append_string(ByteWriter& writer, std::string_view text) {
  writer.u32(static_cast<std::uint32_t>(text.size()));
  writer.append(as_bytes(text));
}

}  // namespace

std::vector<std::byte> encode_state(const AllocationState& state) {
  ByteWriter writer;
  append_string(writer, kVersion);
  writer.u32(kStateMagic);
  writer.u32(state.next_program);
  writer.u32(state.contexts.cursor());
  writer.u32(static_cast<std::uint32_t>(state.contexts.grants().size()));
  for (const auto& [program, grant] : state.contexts.grants()) {
    writer.u32(static_cast<std::uint32_t>(program));
    writer.u32(grant.first);
    writer.u32(grant.first + grant.count - 1);
    writer.u32(static_cast<std::uint32_t>(grant.nodes.intervals().size()));
    for (const NodeSet::Interval& nodes : grant.nodes.intervals()) {
      writer.u32(nodes.first);
      writer.u32(nodes.last);
    }
  }
  writer.u32(crc32c(writer.view()));
  return std::move(writer).release();
}

Result<AllocationState> decode_state(std::span<const std::byte> bytes) {
  if (bytes.size() == kV0Size && Fields(bytes).u32() == kStateMagic) return decode_v0(bytes);
  for (const std::size_t prefix : {std::size_t{4}, std::size_t{2}}) {
    const auto version = version_at(bytes, prefix);
    if (!version) continue;
    const std::size_t body = prefix + version->size();
    if (*version == kVersion && prefix == 4) return decode_present(bytes, body);
    if (*version == kOldVersion) return decode_ver001(bytes.subspan(body));
    return fail(Errc::unsupported, kBadMagicLibState,
                "Elan switch state: version " + version->substr(0, version->size() - 1) +
                    " is not supported");
  }
  return damaged(bytes.empty() ? "empty file" : "no version string");
}

}  // namespace hal::elan
