// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "backends/elan/capability.h"
#include "hal/node_list.h"

namespace hal::elan {

inline constexpr std::string_view kDefaultElanHosts = "/etc/elanhosts";

enum class HostType { eip, eth, other };

/// The site's map between host names and Elan ids. Lines `TYPE ELANIDS HOSTNAMES`, where both
/// lists are host list expressions of equal length; `#` starts a comment; type in any case; at most
/// 4095 characters a line. A name is looked up in all lines, of any type, and the first hit wins.
/// Kept as ranges: a lookup of "n[0-1023]" costs the same as one of "n0". Source: Elan sheet 1.5.
class ElanHosts {
 public:
  /// Neighbouring names: prefix + number + suffix, where the number is the last one of the name.
  /// `digits` is 0 for a name without a number, 1 for numbers without needless zeros, and the
  /// number of digits for numbers that begin with a zero.
  struct Piece {
    std::string_view prefix;
    std::string_view suffix;
    unsigned digits;
    std::uint64_t first;
    std::uint64_t count;
  };

  ElanHosts() = default;

  /// @return invalid_argument with "name:line: reason": unknown type, counts that differ, an id
  /// above 16383, a bad list, a long line.
  [[nodiscard]] static Result<ElanHosts> parse(std::string_view text, std::string_view name);

  /// Reads a regular file that only root or the effective user can write.
  [[nodiscard]] static Result<ElanHosts> load(const std::string& path);

  [[nodiscard]] std::optional<std::uint32_t> id_of(std::string_view host) const;
  [[nodiscard]] std::optional<std::string> host_of(HostType type, std::uint32_t id) const;

  /// Highest id of any line; -1 when there is none.
  [[nodiscard]] int max_id() const noexcept { return max_id_; }

  /// Replaces `runs` by the ids of `nodes` in their order, neighbours joined.
  /// @return not_found (2022): names the first host without an id.
  [[nodiscard]] Result<> resolve(const NodeList& nodes, std::vector<NodeRun>& runs) const;

 private:
  struct Segment {
    std::uint64_t first;
    std::uint64_t last;
    std::uint32_t id;  ///< of `first`; the others follow
  };
  struct Family {
    std::string prefix;
    std::string suffix;
    unsigned digits = 0;
    std::vector<Segment> segments;  ///< sorted, disjoint
  };
  struct Line {
    HostType type;
    NodeList hosts;
    std::vector<NodeRun> ids;
  };

  [[nodiscard]] Result<> add_line(std::string_view line);
  void add_piece(const Piece& piece, const Line& line, std::uint64_t position);
  void add_segment(std::vector<Segment>& segments, Segment added);
  [[nodiscard]] std::size_t family_position(const Piece& piece) const;
  [[nodiscard]] const Family* family_of(const Piece& piece) const;
  /// Appends the ids of `piece`. @return how many of its names were found, from the first on.
  std::uint64_t append(const Piece& piece, std::vector<NodeRun>& runs) const;

  std::vector<Family> families_;  ///< sorted by prefix, suffix, digits
  std::vector<Line> lines_;
  int max_id_ = -1;
};

/// The map of one file, read again when the file was replaced. Not thread safe: its owner locks.
class ElanHostsFile {
 public:
  ElanHostsFile(std::string path, Host& host) : path_(std::move(path)), host_(host) {}

  /// The map; the file is asked for changes about once a second. A file that became bad is logged
  /// once and the former map stays in use.
  /// @return as ElanHosts::load, while there is no map yet.
  [[nodiscard]] Result<const ElanHosts*> current();

  /// As `current`, but asks the file at once.
  [[nodiscard]] Result<const ElanHosts*> refreshed();

 private:
  struct Version {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    std::int64_t changed = 0;
    [[nodiscard]] bool operator==(const Version&) const = default;
  };

  std::string path_;
  Host& host_;
  std::optional<ElanHosts> hosts_;
  Version version_;
  std::time_t next_check_ = 0;  ///< seconds of the coarse clock: reading it costs next to nothing
};

}  // namespace hal::elan
