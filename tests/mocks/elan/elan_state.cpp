// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/elan/elan_state.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>

namespace backplane_mock {
namespace {

constexpr OptionInfo kOptions[kOptionCount] = {
    {"nodes", 1024},
    {"rails", 31},
    {"max_vps", kMaxVps},
    {"max_context", 0},
    {"refuse_7ff", 0},
    {"setcap_off_by_one", 1},
    {"unknown_program_errno", ESRCH},
    {"short_prginfo_einval", 0},
    {"prgaddcap_root", 0},
    {"signal_range_check", 0},
    {"device_root_only", 0},
    {"control_cloexec", 1},
    {"max_programs", kMaxPrograms},
    {"max_handles", kMaxHandles},
    {"max_capabilities", kMaxCapabilities},
    {"reap_segments", 1},
    {"ignore_term", 0},
    {"ignore_kill", 0},
    {"rms_flavour", 0},
    {"neterr_loaded", 0},
};

void set_defaults(CoreState& core) {
  auto& state = reinterpret_cast<ElanState&>(core);
  for (std::uint32_t i = 0; i < kOptionCount; ++i) state.options[i] = kOptions[i].initial;
  if (::getrandom(&state.generation, sizeof state.generation, 0) < 0) state.generation = 1;
  state.next_order = 1;
}

bool meet(std::int32_t low_a, std::int32_t high_a, std::int32_t low_b, std::int32_t high_b) {
  return low_a <= high_b && low_b <= high_a;
}

bool same_geometry(const Geometry& a, const Geometry& b) {
  return std::memcmp(a.key, b.key, sizeof a.key) == 0 && a.type == b.type &&
         a.low_context == b.low_context && a.high_context == b.high_context &&
         a.low_node == b.low_node && a.high_node == b.high_node && a.rail_mask == b.rail_mask;
}

bool overlaps(const ElanState& state, const Geometry& g, int node) {
  return std::any_of(std::begin(state.capabilities), std::end(state.capabilities),
                     [&](const Capability& c) {
                       const Geometry& o = c.geometry;
                       return c.used != 0 && c.node == node &&
                              meet(o.low_context, o.high_context, g.low_context, g.high_context) &&
                              meet(o.low_node, o.high_node, g.low_node, g.high_node) &&
                              (o.rail_mask & g.rail_mask) != 0;
                     });
}

int number_at_end(const char* name) {
  const std::size_t length = std::strlen(name);
  std::size_t first = length;
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  if (first == length || length - first > 5) return -1;
  return static_cast<int>(std::strtol(name + first, nullptr, 10));
}

// Takes the lock byte of the first entry that is neither used nor still locked by an old holder.
template <class Table>
int claim_slot(Table& table, int fd, std::uint64_t locks) {
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (table[i].used == 0 && take_lock(fd, locks + i)) return static_cast<int>(i);
  }
  return -1;
}

template <class Table>
std::int64_t count_on(const Table& table, int node) {
  return std::count_if(std::begin(table), std::end(table),
                       [&](const auto& e) { return e.used != 0 && e.node == node; });
}

template <class Table>
void drop_unheld(Table& table, const Mapping& mapping, int node, std::uint64_t locks) {
  for (std::size_t i = 0; i < std::size(table); ++i) {
    if (table[i].used == 0 || (node >= 0 && table[i].node != node)) continue;
    if (!mapping.lock_held(locks + i)) table[i].used = 0;
  }
}

int find_created(const ElanState& state, const Geometry& wanted, int node) {
  for (std::size_t i = 0; i < kMaxCapabilities; ++i) {
    const Capability& c = state.capabilities[i];
    if (c.used != 0 && c.closing == 0 && c.node == node && same_geometry(c.geometry, wanted)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

const OptionInfo& option_info(std::uint32_t option) { return kOptions[option]; }

const StateLayout& elan_layout() {
  static constexpr StateLayout layout{0x454c414eU, 1, sizeof(ElanState), set_defaults};
  return layout;
}

void reset_state(ElanState& state) {
  const std::uint32_t generation = state.generation;
  const std::uint64_t sequence = state.core.next_sequence;
  auto* bytes = reinterpret_cast<unsigned char*>(&state);
  std::fill(bytes + sizeof(CoreState), bytes + sizeof(ElanState), std::uint8_t{0});
  std::fill(std::begin(state.core.rules), std::end(state.core.rules), Rule{});
  std::fill(std::begin(state.core.trace), std::end(state.core.trace), TraceEntry{});
  set_defaults(state.core);
  state.core.next_sequence = sequence;
  state.generation = generation + 1;  // marks of earlier programs must not fit later ones
}

int node_of_name(const ElanState& state, const char* name) {
  for (const NodeName& entry : state.names) {
    if (entry.name[0] != '\0' && std::strncmp(entry.name, name, sizeof entry.name) == 0) {
      return entry.id;
    }
  }
  return number_at_end(name);
}

int caller_node(const ElanState& state) {
  int node = -1;
  if (const char* name = std::getenv("SLURMD_NODENAME")) node = node_of_name(state, name);
  if (node < 0) {
    if (const char* number = std::getenv("BACKPLANE_MOCK_NODE")) node = number_at_end(number);
  }
  return std::max(node, 0);
}

void sweep_node(ElanState& state, const Mapping& mapping, int node) {
  drop_unheld(state.handles, mapping, node, kHandleLocks);
  drop_unheld(state.attachments, mapping, node, kAttachmentLocks);
  drop_unheld(state.services, mapping, node, kServiceLocks);
  for (std::size_t i = 0; i < kMaxCapabilities; ++i) {
    Capability& c = state.capabilities[i];
    if (c.used == 0 || (node >= 0 && c.node != node)) continue;
    if (state.handles[c.handle % kMaxHandles].used == 0) c.closing = 1;
    const bool attached = std::any_of(std::begin(state.attachments), std::end(state.attachments),
                                      [&](const AttachmentEntry& a) {
                                        return a.used != 0 && a.capability == static_cast<int>(i);
                                      });
    if (c.closing != 0 && !attached) c.used = 0;
  }
}

int check_new_capability(const ElanState& state, const Geometry& g, int node, Flavour flavour) {
  const int kind = g.type & kTypeMask;
  if (g.version != kCapVersion || (g.type & kTypeHwTest) != 0) return EINVAL;
  if (kind != kTypeBlock && kind != kTypeCyclic) return EINVAL;
  if (g.low_context < 0 || g.high_context < 0 || g.low_node < 0 || g.high_node < 0) return EINVAL;
  if (g.low_context > g.high_context || g.low_node > g.high_node) return EINVAL;
  if (g.my_context != -1) return EINVAL;
  const std::int64_t slots = (std::int64_t{g.high_node} - g.low_node + 1) *
                             (std::int64_t{g.high_context} - g.low_context + 1);
  const std::int64_t limit = std::min<std::int64_t>(
      state.options[kMaxVpsOption], flavour == Flavour::elan3 ? kMaxVpsElan3 : kMaxVps);
  if (slots > limit) return EINVAL;
  const std::int64_t highest = state.options[kMaxContext];
  if (highest != 0 && g.high_context > highest) return EINVAL;
  if (state.options[kRefuse7ff] != 0 && g.low_context <= kLastUserContext &&
      g.high_context >= kLastUserContext) {
    return EINVAL;
  }
  return overlaps(state, g, node) ? EINVAL : 0;
}

int create_capability(ElanState& state, const Mapping& mapping, std::uint32_t handle,
                      const Geometry& wanted, Flavour flavour) {
  if (handle >= kMaxHandles || state.handles[handle].used == 0) return EBADF;
  const int node = state.handles[handle].node;
  sweep_node(state, mapping, node);
  if (const int error = check_new_capability(state, wanted, node, flavour)) return error;
  if (count_on(state.capabilities, node) >= state.options[kMaxCapsOption]) return ENOMEM;
  for (Capability& c : state.capabilities) {
    if (c.used != 0) continue;
    c = Capability{1, 0, node, handle, flavour, wanted};
    return 0;
  }
  return ENOMEM;
}

int open_handle(ElanState& state, const Mapping& mapping, int node, int& fd, std::uint32_t& slot) {
  if (state.options[kDeviceRootOnly] != 0 && caller_uid() != 0) return EACCES;
  sweep_node(state, mapping, node);
  if (count_on(state.handles, node) >= state.options[kMaxHandlesOption]) return ENOMEM;
  fd = mapping.reopen(state.options[kControlCloexec] != 0);
  if (fd < 0) return errno;
  const int claimed = claim_slot(state.handles, fd, kHandleLocks);
  if (claimed < 0) {
    ::close(fd);
    return ENOMEM;
  }
  slot = static_cast<std::uint32_t>(claimed);
  state.handles[slot] = Handle{1, node, ::getpid(), 0};
  return 0;
}

int attach_context(ElanState& state, const Mapping& mapping, int node, const Geometry& g, int rail,
                   int context, int& fd) {
  sweep_node(state, mapping, node);
  const auto in_user_range = [](int c) { return c >= 0 && c <= kLastUserContext; };
  const auto in_rms_range = [](int c) { return c >= kFirstRmsContext; };
  if (!in_user_range(g.low_context) || !in_user_range(g.high_context)) return EINVAL;
  if (state.options[kRefuse7ff] != 0 && g.high_context == kLastUserContext) return EINVAL;
  if (in_rms_range(g.low_context) != in_rms_range(g.high_context)) return EINVAL;
  int created = -1;
  if (in_rms_range(g.low_context)) {
    created = find_created(state, g, node);
    if (created < 0) return EINVAL;
  }
  if (node < g.low_node || node > g.high_node || g.high_node >= state.options[kNodes]) {
    return EINVAL;
  }
  if (context < g.low_context || context > g.high_context) return EINVAL;
  if (rail < 0 || rail >= state.options[kRails] || rail > 31 ||
      (g.rail_mask >> static_cast<unsigned>(rail) & 1U) == 0) {
    return EINVAL;
  }
  for (const AttachmentEntry& a : state.attachments) {
    if (a.used != 0 && a.node == node && a.rail == static_cast<std::uint32_t>(rail) &&
        a.context == context) {
      return EBUSY;
    }
  }
  fd = mapping.reopen();
  if (fd < 0) return errno;
  const int slot = claim_slot(state.attachments, fd, kAttachmentLocks);
  if (slot < 0) {
    ::close(fd);
    return ENOMEM;
  }
  state.attachments[slot] =
      AttachmentEntry{1, node, static_cast<std::uint32_t>(rail), context, created, ::getpid()};
  return 0;
}

ELAN_POSITION position_of(const ElanState& state, int node) {
  ELAN_POSITION position{};
  position.pos_mode = 1;
  position.pos_nodeid = static_cast<std::uint32_t>(node);
  position.pos_nodes = static_cast<std::uint32_t>(state.options[kNodes]);
  std::uint64_t reach = 1;
  while (reach < position.pos_nodes && position.pos_levels < 8) {
    position.pos_arity[position.pos_levels++] = 4;
    reach *= 4;
  }
  return position;
}

}  // namespace backplane_mock
