// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <utility>

#include "hal/node_digits.h"
#include "hal/node_list.h"

namespace hal {

/// One pass over the text. An item is a chain of literals and brackets; the bracket that runs
/// fastest becomes ranges, those before it are multiplied out.
class NodeList::Parser {
 public:
  Parser(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  Result<NodeList> run() {
    if (text_.size() > limits_.max_text) {
      return fail(Errc::exhausted, E2BIG,
                  "node list of " + std::to_string(text_.size()) + " bytes: at most " +
                      std::to_string(limits_.max_text));
    }
    while (at_ < text_.size()) {
      if (is_separator(text_[at_])) {
        ++at_;
      } else if (!item()) {
        return Failure(std::move(error_));
      }
    }
    if (list_.empty()) return fail(Errc::invalid_argument, EINVAL, "empty node list");
    return std::move(list_);
  }

 private:
  /// What a bracket holds in all.
  struct Totals {
    std::uint64_t count = 0;
    std::size_t longest = 0;  ///< digits of its longest number
  };
  struct Bracket {
    std::string_view before;  ///< the literal in front of it
    std::vector<Run> numbers;
    std::uint64_t count = 0;
  };

  static bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t'; }

  bool refuse(const std::string& reason) {
    error_ = {Errc::invalid_argument, EINVAL,
              "node list, offset " + std::to_string(at_) + ": " + reason};
    return false;
  }

  bool exceed(const std::string& what, std::uint64_t limit) {
    error_ = {Errc::exhausted, E2BIG,
              "node list, offset " + std::to_string(at_) + ": more than " + std::to_string(limit) +
                  " " + what};
    return false;
  }

  /// The usual item has one bracket: its numbers go straight to the end of the list, and get
  /// their family there. They are taken back out when a second bracket follows.
  bool item() {
    brackets_.clear();
    const std::size_t mark = list_.runs_.size();
    std::string_view prefix;
    Totals totals;
    std::size_t longest = 0;
    for (std::size_t index = 0;; ++index) {
      const std::size_t start = at_;
      if (!skip_literal()) return false;
      const std::string_view literal = text_.substr(start, at_ - start);
      longest += literal.size();
      const bool opens = at_ < text_.size() && text_[at_] == '[';
      if (opens) {
        if (index > 0) set_aside(mark, prefix, totals);
        prefix = literal;
        totals = {};
        if (!bracket(totals)) return false;
        longest += totals.longest;
      }
      if (longest > limits_.max_name) return exceed("bytes in a name", limits_.max_name);
      if (opens) continue;
      if (index == 0) return plain(literal);
      if (index == 1) return ranges(mark, prefix, literal, totals.count);
      set_aside(mark, prefix, totals);
      return multiply(literal);
    }
  }

  void set_aside(std::size_t mark, std::string_view before, const Totals& totals) {
    const auto numbers = std::span(list_.runs_).subspan(mark);
    brackets_.push_back({before, {numbers.begin(), numbers.end()}, totals.count});
    list_.runs_.resize(mark, Run{});
  }

  /// Moves to the next separator, '[' or the end.
  bool skip_literal() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (is_separator(c) || c == '[') return true;
      if (c == ']') return refuse("']' without '['");
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refuse("control character");
    }
    return true;
  }

  /// A bracket in a bracket only groups: "[1,[3-5]]" is "[1,3-5]".
  bool bracket(Totals& totals) {
    std::size_t depth = 0;
    bool after_number = false;
    do {
      if (at_ >= text_.size()) return refuse("'[' without ']'");
      const char c = text_[at_];
      if (c == ',') {
        after_number = false;
      } else if (c == ']') {
        --depth;
        after_number = true;
      } else if (after_number) {
        return refuse("',' or ']' is missing");
      } else if (c == '[') {
        ++depth;
      } else {
        if (!number_range(totals)) return false;
        after_number = true;
        continue;
      }
      ++at_;
    } while (depth > 0);
    if (totals.count == 0) return refuse("empty bracket");
    return true;
  }

  bool number_range(Totals& totals) {
    std::string_view digits;
    if (!number(digits)) return false;
    Run run{node_digits::value_of(digits), 0, 0, 0, node_digits::width_of(digits)};
    run.last = run.first;
    std::size_t longest = digits.size();
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      if (!number(digits)) return false;
      run.last = node_digits::value_of(digits);
      if (run.last < run.first) return refuse("range runs backward");
      longest = std::max<std::size_t>(run.width, node_digits::count_digits(run.last));
    }
    // The count of one range may be near 2^64: compare before adding.
    if (run.last - run.first >= limits_.max_nodes - totals.count) {
      return exceed("names", limits_.max_nodes);
    }
    totals.count += run.count();
    totals.longest = std::max(totals.longest, longest);
    list_.runs_.push_back(run);
    return true;
  }

  bool number(std::string_view& digits) {
    const std::size_t start = at_;
    while (at_ < text_.size() && node_digits::is_digit(text_[at_])) ++at_;
    digits = text_.substr(start, at_ - start);
    if (digits.empty()) return refuse("a number is needed");
    if (digits.size() > node_digits::kMaxDigits) {
      return refuse("number of " + std::to_string(digits.size()) + " digits: at most " +
                    std::to_string(node_digits::kMaxDigits));
    }
    return true;
  }

  bool plain(std::string_view name) {
    if (list_.size_ >= limits_.max_nodes) return exceed("names", limits_.max_nodes);
    const node_digits::DigitRun run = node_digits::last_run(name);
    if (run.size == 0 || run.start + run.size != name.size()) {
      list_.append({0, 0, 0, list_.family(name, {}), 0});
      return true;
    }
    const std::string_view digits = name.substr(run.start);
    const std::uint64_t value = node_digits::value_of(digits);
    list_.append({value, value, 0, list_.family(name.substr(0, run.start), {}),
                  node_digits::width_of(digits)});
    return true;
  }

  /// Completes the runs from `mark` on, where `bracket` left them.
  bool ranges(std::size_t mark, std::string_view prefix, std::string_view suffix,
              std::uint64_t count) {
    if (count > limits_.max_nodes - list_.size_) return exceed("names", limits_.max_nodes);
    const std::uint32_t family = list_.family(prefix, suffix);
    std::size_t kept = mark;
    for (std::size_t from = mark; from < list_.runs_.size(); ++from) {
      Run run = list_.runs_[from];
      run.family = family;
      run.start = list_.size_;
      list_.size_ += run.count();
      if (kept > 0 && continues(list_.runs_[kept - 1], run)) {
        list_.runs_[kept - 1].last = run.last;
      } else {
        list_.runs_[kept++] = run;
      }
    }
    list_.runs_.resize(kept, Run{});
    return true;
  }

  bool multiply(std::string_view after) {
    std::uint64_t total = 1;
    for (const Bracket& one : brackets_) {
      if (one.count > (limits_.max_nodes - list_.size_) / total) {
        return exceed("names", limits_.max_nodes);
      }
      total *= one.count;
    }
    // Brackets of one number behind the last longer one are text that follows its numbers.
    std::size_t running = brackets_.size() - 1;
    while (running > 0 && brackets_[running].count == 1) --running;
    std::string suffix;
    for (std::size_t i = running + 1; i < brackets_.size(); ++i) {
      suffix += brackets_[i].before;
      const Run& only = brackets_[i].numbers.front();
      node_digits::append_number(suffix, only.first, only.width);
    }
    suffix += after;
    std::string prefix;
    emit(0, running, prefix, suffix);
    return true;
  }

  void emit(std::size_t index, std::size_t running, std::string& prefix,
            const std::string& suffix) {
    const std::size_t outer = prefix.size();
    prefix += brackets_[index].before;
    const std::size_t stem = prefix.size();
    for (Run run : brackets_[index].numbers) {
      if (index == running) {
        run.family = list_.family(prefix, suffix);
        list_.append(run);
        continue;
      }
      for (std::uint64_t left = run.count(); left > 0; --left) {
        node_digits::append_number(prefix, run.last - left + 1, run.width);
        emit(index + 1, running, prefix, suffix);
        prefix.resize(stem);
      }
    }
    prefix.resize(outer);
  }

  std::string_view text_;
  const Limits& limits_;
  std::size_t at_ = 0;
  NodeList list_;
  std::vector<Bracket> brackets_;  ///< of the present item, when there are several
  Error error_{};
};

Result<NodeList> NodeList::parse(std::string_view text, const Limits& limits) {
  return Parser(text, limits).run();
}

}  // namespace hal
