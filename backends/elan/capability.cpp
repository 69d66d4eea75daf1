// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/capability.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "backends/elan/wire_words.h"

namespace hal::elan {
namespace {

// Offsets of the wire form.
constexpr std::size_t kProgram = 4;
constexpr std::size_t kType = 24;
constexpr std::size_t kSpare = 26;
constexpr std::size_t kVersion = 28;
constexpr std::size_t kLowContext = 32;
constexpr std::size_t kHighContext = 36;
constexpr std::size_t kMyContext = 40;
constexpr std::size_t kLowNode = 44;
constexpr std::size_t kHighNode = 48;
constexpr std::size_t kEntries = 52;
constexpr std::uint32_t kUninitialised = 0xFFFFFFFF;
constexpr std::uint32_t kMaxRailMask = 0x7FFFFFFF;  // 31 rails

[[gnu::cold]] Failure damaged(std::string_view reason) {
  return fail(Errc::corrupt, kBadMagicJobInfo, "Elan credential: " + std::string(reason));
}

/// The first thing wrong with the header, or nothing. Ranges first: later checks build on them.
const char* wrong_field(const Capability& capability, const std::byte* wire) {
  const std::uint16_t shape = capability.type & kTypeMask;
  if (load_word(wire) != kCredentialMagic) return "wrong magic";
  if (capability.program == 0) return "was never built";
  if (capability.program > kMaxProgram) return "program number out of range";
  if (load_word(wire + kVersion) != kCapabilityVersion) return "unknown capability version";
  if ((shape != kTypeBlock && shape != kTypeCyclic) ||
      (capability.type & ~(kTypeMask | kTypeMultiRail | kTypeBroadcastable)) != 0) {
    return "unknown capability type";
  }
  if (load_word(wire + kMyContext) != kUninitialised) return "context of one process is set";
  if (capability.low_context < kFirstContext || capability.low_context > capability.high_context ||
      capability.high_context >= kFirstContext + kContextCount) {
    return "bad context range";
  }
  if (capability.low_node > capability.high_node || capability.high_node > kMaxElanId) {
    return "bad node range";
  }
  if (capability.rail_mask == 0 || capability.rail_mask > kMaxRailMask) return "bad rail mask";
  const std::uint64_t slots = std::uint64_t{capability.contexts()} * capability.span();
  if (slots > limits_of(capability.flavour).max_processes) return "more process slots than bits";
  return nullptr;
}

bool all_zero(std::span<const std::byte> bytes) {
  std::uint64_t seen = 0;
  std::size_t at = 0;
  for (; at + sizeof seen <= bytes.size(); at += sizeof seen) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    seen |= word;
  }
  for (; at < bytes.size(); ++at) seen |= static_cast<std::uint64_t>(bytes[at]);
  return seen == 0;
}

bool bits_outside(std::span<const std::byte> bitmap, std::size_t slots) {
  const std::size_t full_words = slots / 32;
  const std::size_t rest = slots % 32;
  const std::size_t used = full_words + (rest != 0 ? 1 : 0);
  if (rest != 0 && (load_word(bitmap.data() + 4 * full_words) & (~0U << rest)) != 0) return true;
  return !all_zero(bitmap.subspan(4 * used));
}

std::uint32_t count_bits(std::span<const std::byte> bitmap) {
  std::uint32_t count = 0;
  for (std::size_t at = 0; at < bitmap.size(); at += 4) {
    count += static_cast<std::uint32_t>(std::popcount(load_word(bitmap.data() + at)));
  }
  return count;
}

constexpr auto kAllOnes = [] {
  std::array<std::byte, limits_of(Flavour::elanctrl).wire_size> form{};
  form.fill(std::byte{0xFF});
  return form;
}();

/// The wire form to start from: all bits of the bitmap set, or none. Not inlined, because compilers
/// turn copies of a known size into string instructions, which are slower than the library's.
[[gnu::noinline]] std::span<const std::byte> blank_form(Flavour flavour, bool every_slot) {
  return every_slot ? std::span(kAllOnes).first(limits_of(flavour).wire_size)
                    : unbuilt_wire(flavour);
}

bool has_bit(std::span<const std::byte> bitmap, std::size_t bit) {
  return (load_word(bitmap.data() + bit / 32 * 4) >> (bit % 32) & 1U) != 0;
}

/// Bits of `nodes` neighbours from offset `first`, each with tasks 0..tasks-1 of `contexts` slots.
void set_block(WireBitmap& bitmap, std::size_t first, std::size_t nodes, std::size_t contexts,
               std::size_t tasks) {
  if (tasks == contexts) {
    bitmap.set(first * contexts, nodes * contexts);
    return;
  }
  if (tasks == 0) return;
  for (std::size_t node = first; node < first + nodes; ++node) bitmap.set(node * contexts, tasks);
}

void set_cyclic(WireBitmap& bitmap, std::size_t first, std::size_t nodes, std::size_t span,
                std::size_t tasks) {
  for (std::size_t task = 0; task < tasks; ++task) bitmap.set(task * span + first, nodes);
}

/// Calls `fill(first offset, nodes, tasks)` for neighbours that carry the same number of tasks.
template <class Fill>
void for_each_group(const CapabilityPlan& plan, Fill&& fill) {
  const StepLayout& layout = plan.layout;
  const std::uint32_t low = plan.runs.front().first;
  const std::uint32_t larger = layout.task_count() % layout.node_count();
  const std::uint32_t share = layout.task_count() / layout.node_count();
  std::uint32_t index = 0;
  for (const NodeRun& run : plan.runs) {
    const std::uint32_t offset = run.first - low;
    if (layout.balanced()) {
      const std::uint32_t more = index < larger ? std::min(run.count, larger - index) : 0;
      if (more > 0) fill(offset, more, share + 1);
      if (run.count > more) fill(offset + more, run.count - more, share);
    } else {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        fill(offset + i, 1U, layout.tasks_on(index + i));
      }
    }
    index += run.count;
  }
}

}  // namespace

Result<Capability> read_capability(std::span<const std::byte> wire, Flavour flavour) {
  const FlavourLimits limits = limits_of(flavour);
  if (wire.size() != limits.wire_size) {
    return damaged(std::to_string(wire.size()) + " bytes instead of " +
                   std::to_string(limits.wire_size));
  }
  const std::byte* at = wire.data();
  const Capability capability{.flavour = flavour,
                              .program = load_word(at + kProgram),
                              .type = load_half(at + kType),
                              .spare = load_half(at + kSpare),
                              .low_context = load_word(at + kLowContext),
                              .high_context = load_word(at + kHighContext),
                              .low_node = load_word(at + kLowNode),
                              .high_node = load_word(at + kHighNode),
                              .entries = flavour == Flavour::elan3 ? load_word(at + kEntries) : 0,
                              .rail_mask = load_word(at + limits.bitmap_offset - 4)};
  if (const char* reason = wrong_field(capability, at); reason != nullptr) return damaged(reason);
  const auto bitmap = wire.subspan(limits.bitmap_offset);
  const std::size_t slots = std::size_t{capability.contexts()} * capability.span();
  if (bits_outside(bitmap, slots)) return damaged("process outside the node and context ranges");
  if (flavour == Flavour::elan3 && capability.entries != count_bits(bitmap)) {
    return damaged("number of processes does not match the bitmap");
  }
  return capability;
}

Result<Capability> read_capability(const Credential& credential) {
  if (!credential.built()) return damaged("was never built");
  const bool old = credential.wire().size() == limits_of(Flavour::elan3).wire_size;
  return read_capability(credential.wire(), old ? Flavour::elan3 : Flavour::elanctrl);
}

bool has_slot(std::span<const std::byte> wire, const Capability& capability, std::uint32_t node,
              std::uint32_t context) {
  if (node >= capability.span() || context >= capability.contexts()) return false;
  const std::size_t bit = capability.cyclic() ? node + std::size_t{context} * capability.span()
                                              : std::size_t{node} * capability.contexts() + context;
  return has_bit(wire.subspan(limits_of(capability.flavour).bitmap_offset), bit);
}

NodeSet nodes_of(std::span<const std::byte> wire, const Capability& capability) {
  std::vector<NodeSet::Interval> intervals{{capability.low_node, capability.low_node},
                                           {capability.high_node, capability.high_node}};
  for (std::uint32_t node = 0; node < capability.span(); ++node) {
    // Slots fill from 0, so that a node with processes has the first one.
    if (!has_slot(wire, capability, node, 0)) continue;
    const std::uint32_t id = capability.low_node + node;
    if (intervals.back().last + 1 == id) {
      intervals.back().last = id;
    } else {
      intervals.push_back({id, id});
    }
  }
  return NodeSet(std::move(intervals));
}

std::span<const std::byte> unbuilt_wire(Flavour flavour) noexcept {
  static constexpr auto kForm = [] {
    std::array<std::byte, limits_of(Flavour::elanctrl).wire_size> form{};
    for (std::size_t i = 0; i < 4; ++i) form[i] = std::byte(kCredentialMagic >> (24 - 8 * i));
    return form;
  }();
  return std::span(kForm).first(limits_of(flavour).wire_size);
}

Result<> check_fit(Flavour flavour, const StepLayout& layout, std::span<const NodeRun> runs) {
  const FlavourLimits limits = limits_of(flavour);
  if (layout.task_count() > limits.max_processes) {
    return fail(Errc::invalid_argument, kBadTaskCount,
                std::to_string(layout.task_count()) + " tasks: an Elan step has at most " +
                    std::to_string(limits.max_processes));
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].first >= runs[i - 1].first + runs[i - 1].count) continue;
    return fail(Errc::invalid_argument, EINVAL,
                "node list order differs from the order of Elan ids (id " +
                    std::to_string(runs[i].first) + " comes after " +
                    std::to_string(runs[i - 1].first + runs[i - 1].count - 1) +
                    "), so that ranks would be wrong: list the nodes in the order of elanhosts");
  }
  const std::uint64_t span = runs.back().first + runs.back().count - runs.front().first;
  const std::uint64_t contexts = layout.max_tasks_per_node();
  if (contexts > kContextCount) {
    return fail(Errc::invalid_argument, EINVAL,
                std::to_string(contexts) + " tasks on one node: Elan has " +
                    std::to_string(kContextCount) + " contexts a node");
  }
  if (span * contexts > limits.max_processes) {
    return fail(Errc::invalid_argument, EINVAL,
                std::to_string(contexts) + " tasks a node over a range of " + std::to_string(span) +
                    " Elan ids: their product must not exceed " +
                    std::to_string(limits.max_processes));
  }
  return {};
}

Credential build_capability(const CapabilityPlan& plan, std::span<const std::byte, kKeySize> key) {
  const FlavourLimits limits = limits_of(plan.flavour);
  const NodeRun last = plan.runs.back();
  const std::uint32_t contexts = plan.layout.max_tasks_per_node();
  const std::uint32_t low_node = plan.runs.front().first;
  const std::uint32_t high_node = last.first + last.count - 1;
  const bool cyclic = plan.layout.distribution() == TaskDistribution::cyclic;

  const std::size_t span = high_node - low_node + 1;
  const std::size_t slots = span * contexts;

  // A copy of a prepared form is cheaper than blank memory that is filled.
  const bool every_slot = plan.layout.task_count() == slots;
  const auto form = blank_form(plan.flavour, every_slot);
  std::vector<std::byte> wire(form.begin(), form.end());
  std::byte* at = wire.data();
  store_word(at, kCredentialMagic);
  store_word(at + kProgram, plan.program);
  std::memcpy(at + kKeyOffset, key.data(), key.size());
  store_half(at + kType, static_cast<std::uint16_t>((cyclic ? kTypeCyclic : kTypeBlock) |
                                                    kTypeMultiRail | kTypeBroadcastable));
  store_half(at + kSpare, 0xFFFF);
  store_word(at + kVersion, kCapabilityVersion);
  store_word(at + kLowContext, kFirstContext + plan.first_context);
  store_word(at + kHighContext, kFirstContext + plan.first_context + contexts - 1);
  store_word(at + kMyContext, kUninitialised);
  store_word(at + kLowNode, low_node);
  store_word(at + kHighNode, high_node);
  if (plan.flavour == Flavour::elan3) store_word(at + kEntries, plan.layout.task_count());
  store_word(at + limits.bitmap_offset - 4, 1);  // rail 0

  WireBitmap bitmap(at + limits.bitmap_offset);
  if (every_slot) {
    bitmap.truncate(slots, limits.max_processes);
    return Credential(std::move(wire));
  }
  for_each_group(plan, [&](std::uint32_t first, std::uint32_t nodes, std::uint32_t tasks) {
    if (cyclic) {
      set_cyclic(bitmap, first, nodes, span, tasks);
    } else {
      set_block(bitmap, first, nodes, contexts, tasks);
    }
  });
  return Credential(std::move(wire));
}

}  // namespace hal::elan
