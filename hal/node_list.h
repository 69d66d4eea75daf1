// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hal/result.h"

namespace hal {

/// An ordered list of node names, kept as ranges: "n[0-99999]" costs one entry. Order and
/// duplicates are those of the expression (a resource manager's node index is a position in it).
class NodeList {
 public:
  /// Names that share prefix, suffix and width: prefix + zero-padded number + suffix. A name
  /// without a number is a range with `numbered` false and one member, the prefix. The texts are
  /// views into the list.
  struct Range {
    std::string_view prefix;
    std::uint64_t first = 0;
    std::uint64_t last = 0;  ///< inclusive
    unsigned width = 0;      ///< digits at least; 1 for unpadded numbers
    bool numbered = false;
    std::string_view suffix;

    [[nodiscard]] std::uint64_t count() const noexcept { return last - first + 1; }
    [[nodiscard]] bool operator==(const Range&) const = default;
  };

  /// The ranges of a list in order; made on the fly, so elements are values.
  class Ranges {
   public:
    class Iterator {
     public:
      Iterator(const NodeList& list, std::size_t at) : list_(&list), at_(at) {}
      [[nodiscard]] Range operator*() const { return list_->range(at_); }
      Iterator& operator++() {
        ++at_;
        return *this;
      }
      [[nodiscard]] bool operator==(const Iterator&) const = default;

     private:
      const NodeList* list_;
      std::size_t at_;
    };

    explicit Ranges(const NodeList& list) : list_(&list) {}
    [[nodiscard]] Iterator begin() const { return {*list_, 0}; }
    [[nodiscard]] Iterator end() const { return {*list_, size()}; }
    [[nodiscard]] std::size_t size() const noexcept { return list_->runs_.size(); }
    [[nodiscard]] Range operator[](std::size_t at) const { return list_->range(at); }

   private:
    const NodeList* list_;
  };

  /// Bounds that keep a hostile expression from eating the machine.
  struct Limits {
    std::size_t max_text = std::size_t{4} << 20;   ///< bytes of the expression
    std::size_t max_nodes = std::size_t{1} << 20;  ///< names after expansion
    std::size_t max_name = 255;                    ///< bytes of one name
  };

  NodeList() = default;

  /// Parses SLURM's host list expressions: "a,b2", "n[1-4,07]", several brackets "r[1-2]n[0-3]",
  /// suffixes "n[1-3]-ib[0-1]", brackets in brackets "n[1,[3-5]]". Items are separated by commas,
  /// blanks or tabs; empty items are skipped, in brackets too. The last bracket runs fastest. The
  /// first number of a range sets the padding: "n[08-11]" is n08 to n11, "n[8-11]" n8 to n11.
  /// @return invalid_argument: unbalanced or empty bracket, backward or non-numeric range, number
  /// of more than 19 digits, control character, empty list; exhausted: a limit is passed, before
  /// memory is spent. The detail gives the offset.
  [[nodiscard]] static Result<NodeList> parse(std::string_view text, const Limits& limits);
  [[nodiscard]] static Result<NodeList> parse(std::string_view text) {
    return parse(text, Limits{});
  }

  /// A list of the given names in their order; neighbours that continue a range are merged. Names
  /// hold no comma, blank or bracket; empty ones are skipped.
  [[nodiscard]] static NodeList from_names(std::span<const std::string> names);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Name at `index` (from 0), which must be below size().
  [[nodiscard]] std::string at(std::size_t index) const;

  /// Position of the first `name`, or nothing. Looks at each range once; nothing is expanded.
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view name) const;

  [[nodiscard]] std::vector<std::string> expand() const;

  /// The ranged form that keeps the order: "n[1-3,7],x". Parsing it gives the same names again.
  [[nodiscard]] std::string ranged() const;

  [[nodiscard]] Ranges ranges() const noexcept { return Ranges(*this); }

 private:
  class Parser;
  class NameMerger;

  /// Texts of one or more runs in a row.
  struct Family {
    std::string prefix;
    std::string suffix;
  };
  /// Consecutive numbers of one family; width 0 means a name without a number.
  struct Run {
    std::uint64_t first;
    std::uint64_t last;
    std::size_t start;  ///< index of its first name in the list
    std::uint32_t family;
    std::uint32_t width;

    [[nodiscard]] std::uint64_t count() const noexcept { return last - first + 1; }
  };

  [[nodiscard]] Range range(std::size_t at) const;
  [[nodiscard]] std::uint32_t family(std::string_view prefix, std::string_view suffix);
  [[nodiscard]] static bool continues(const Run& run, const Run& next);
  void append(Run run);
  void append_name(std::string& text, const Run& run, std::uint64_t number) const;

  std::vector<Family> families_;
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

}  // namespace hal
