// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/elan_hosts.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "backends/elan/host_pieces.h"

namespace hal::elan {
namespace {

constexpr std::size_t kMaxLine = 4095;
constexpr std::size_t kFewFamilies = 4;  ///< as many are compared faster than sorted
constexpr std::string_view kBlanks = " \t\r";

using Piece = ElanHosts::Piece;

auto order_of(std::string_view prefix, std::string_view suffix, unsigned digits) {
  return std::tuple(prefix, suffix, digits);
}

/// Adds neighbouring ids; joins them with the run before if they go on there.
void append_run(std::vector<NodeRun>& runs, std::uint32_t first, std::uint32_t count) {
  if (!runs.empty() && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({first, count});
  }
}

std::optional<HostType> type_of(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower == "eip") return HostType::eip;
  if (lower == "eth") return HostType::eth;
  if (lower == "other") return HostType::other;
  return std::nullopt;
}

Failure bad(std::string reason) {
  return fail(Errc::invalid_argument, kGetNodeIdByHost, std::move(reason));
}

/// Words of a line without its comment.
std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t start = line.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(kBlanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    line.remove_prefix(end);
  }
}

Result<NodeList> parse_list(std::string_view text) {
  NodeList::Limits limits;
  limits.max_nodes = kMaxElanId + 1;
  auto list = NodeList::parse(text, limits);
  if (!list) return bad(list.error().detail);
  return list;
}

Result<std::vector<NodeRun>> parse_ids(std::string_view text) {
  auto list = parse_list(text);
  if (!list) return propagate(std::move(list));
  std::vector<NodeRun> runs;
  for (const NodeList::Range& range : list->ranges()) {
    if (!range.numbered || !range.prefix.empty() || !range.suffix.empty()) {
      return bad("'" + std::string(text) + "' is not a list of Elan ids");
    }
    if (range.last > kMaxElanId) {
      return bad("Elan id " + std::to_string(range.last) + " is above " +
                 std::to_string(kMaxElanId));
    }
    append_run(runs, static_cast<std::uint32_t>(range.first),
               static_cast<std::uint32_t>(range.count()));
  }
  return runs;
}

}  // namespace

std::size_t ElanHosts::family_position(const Piece& piece) const {
  const auto wanted = order_of(piece.prefix, piece.suffix, piece.digits);
  const auto found = std::ranges::lower_bound(families_, wanted, {}, [](const Family& family) {
    return order_of(family.prefix, family.suffix, family.digits);
  });
  return static_cast<std::size_t>(found - families_.begin());
}

const ElanHosts::Family* ElanHosts::family_of(const Piece& piece) const {
  const auto is_it = [&](const Family& family) {
    return family.digits == piece.digits && family.prefix == piece.prefix &&
           family.suffix == piece.suffix;
  };
  if (families_.size() <= kFewFamilies) {
    const auto found = std::ranges::find_if(families_, is_it);
    return found == families_.end() ? nullptr : &*found;
  }
  const std::size_t position = family_position(piece);
  if (position == families_.size() || !is_it(families_[position])) return nullptr;
  return &families_[position];
}

void ElanHosts::add_segment(std::vector<Segment>& segments, Segment added) {
  const auto insert = [&](auto at, Segment part) {
    if (at != segments.begin()) {
      Segment& before = *(at - 1);
      if (before.last + 1 == part.first && before.id + (part.first - before.first) == part.id) {
        before.last = part.last;
        return at;
      }
    }
    return segments.insert(at, part) + 1;
  };
  auto at = std::ranges::lower_bound(segments, added.first, {}, &Segment::last);
  while (added.first <= added.last) {
    if (at == segments.end() || at->first > added.last) {
      insert(at, added);
      return;
    }
    if (at->first > added.first) {  // the names before the ones that an earlier line gave
      at = insert(at, {added.first, at->first - 1, added.id});
    }
    added.id += static_cast<std::uint32_t>(at->last + 1 - added.first);
    added.first = at->last + 1;
    ++at;
  }
}

void ElanHosts::add_piece(const Piece& piece, const Line& line, std::uint64_t position) {
  const std::size_t at = family_position(piece);
  if (family_of(piece) == nullptr) {
    families_.insert(
        families_.begin() + static_cast<std::ptrdiff_t>(at),
        Family{std::string(piece.prefix), std::string(piece.suffix), piece.digits, {}});
  }
  std::uint64_t value = piece.first;
  std::uint64_t left = piece.count;
  for (const NodeRun& run : line.ids) {
    if (position >= run.count) {
      position -= run.count;
      continue;
    }
    const std::uint64_t taken = std::min<std::uint64_t>(left, run.count - position);
    add_segment(families_[at].segments,
                {value, value + taken - 1, run.first + static_cast<std::uint32_t>(position)});
    value += taken;
    left -= taken;
    position = 0;
    if (left == 0) return;
  }
}

Result<> ElanHosts::add_line(std::string_view text) {
  if (text.size() > kMaxLine) {
    return bad("longer than " + std::to_string(kMaxLine) + " characters: split the line");
  }
  const auto words = words_of(text);
  if (words.empty()) return {};
  if (words.size() != 3) return bad("must be: TYPE ELANIDS HOSTNAMES");
  const auto type = type_of(words[0]);
  if (!type) return bad("unknown type '" + std::string(words[0]) + "': eip, eth or other");
  auto ids = parse_ids(words[1]);
  if (!ids) return propagate(std::move(ids));
  auto hosts = parse_list(words[2]);
  if (!hosts) return propagate(std::move(hosts));
  std::uint64_t id_count = 0;
  for (const NodeRun& run : *ids) {
    id_count += run.count;
    max_id_ = std::max(max_id_, static_cast<int>(run.first + run.count - 1));
  }
  if (id_count != hosts->size()) {
    return bad(std::to_string(id_count) + " Elan ids for " + std::to_string(hosts->size()) +
               " host names");
  }
  const Line& line = lines_.emplace_back(Line{*type, std::move(*hosts), std::move(*ids)});
  std::uint64_t position = 0;
  for (const NodeList::Range& range : line.hosts.ranges()) {
    for_each_piece(range, [&](const Piece& piece) {
      add_piece(piece, line, position);
      position += piece.count;
      return true;
    });
  }
  return {};
}

Result<ElanHosts> ElanHosts::parse(std::string_view text, std::string_view name) {
  ElanHosts hosts;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (auto added = hosts.add_line(text.substr(0, end)); !added) {
      return propagate(
          with_context(std::move(added), std::string(name) + ':' + std::to_string(number)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return hosts;
}

std::uint64_t ElanHosts::append(const Piece& piece, std::vector<NodeRun>& runs) const {
  const Family* family = family_of(piece);
  if (family == nullptr) return 0;
  std::uint64_t value = piece.first;
  const std::uint64_t last = piece.first + piece.count - 1;
  auto at = std::ranges::lower_bound(family->segments, value, {}, &Segment::last);
  for (; at != family->segments.end() && at->first <= value; ++at) {
    const std::uint64_t end = std::min(last, at->last);
    append_run(runs, at->id + static_cast<std::uint32_t>(value - at->first),
               static_cast<std::uint32_t>(end - value + 1));
    value = end + 1;
    if (value > last) break;
  }
  return value - piece.first;
}

Result<> ElanHosts::resolve(const NodeList& nodes, std::vector<NodeRun>& runs) const {
  runs.clear();
  std::uint64_t position = 0;
  for (const NodeList::Range& range : nodes.ranges()) {
    const bool complete = for_each_piece(range, [&](const Piece& piece) {
      const std::uint64_t found = append(piece, runs);
      position += found;
      return found == piece.count;
    });
    if (!complete) {
      return fail(Errc::not_found, kInterconnectFailure,
                  "no Elan id for host '" + nodes.at(position) + "': add it to elanhosts");
    }
  }
  return {};
}

std::optional<std::uint32_t> ElanHosts::id_of(std::string_view host) const {
  std::vector<NodeRun> runs;
  if (append(piece_of(host), runs) != 1) return std::nullopt;
  return runs.front().first;
}

std::optional<std::string> ElanHosts::host_of(HostType type, std::uint32_t id) const {
  for (const Line& line : lines_) {
    if (line.type != type) continue;
    std::size_t position = 0;
    for (const NodeRun& run : line.ids) {
      if (id >= run.first && id - run.first < run.count) {
        return line.hosts.at(position + (id - run.first));
      }
      position += run.count;
    }
  }
  return std::nullopt;
}

}  // namespace hal::elan
