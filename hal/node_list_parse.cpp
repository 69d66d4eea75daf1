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
  struct Span {
    std::uint64_t first;
    std::uint64_t last;
    unsigned width;
  };
  struct Bracket {
    std::string_view before;  ///< the literal in front of it
    std::vector<Span> spans;
    std::uint64_t count = 0;
    std::size_t longest = 0;  ///< digits of its longest number
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

  bool item() {
    brackets_ = 0;
    std::size_t longest = 0;
    while (true) {
      const std::size_t start = at_;
      if (!skip_literal()) return false;
      const std::string_view literal = text_.substr(start, at_ - start);
      longest += literal.size();
      const bool opens = at_ < text_.size() && text_[at_] == '[';
      if (opens) {
        Bracket& fresh = next_bracket(literal);
        if (!bracket(fresh)) return false;
        longest += fresh.longest;
      }
      if (longest > limits_.max_name) return exceed("bytes in a name", limits_.max_name);
      if (!opens) return brackets_ == 0 ? plain(literal) : multiply(literal);
    }
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

  Bracket& next_bracket(std::string_view before) {
    if (brackets_ == pool_.size()) pool_.emplace_back();
    Bracket& fresh = pool_[brackets_++];
    fresh.before = before;
    fresh.spans.clear();
    fresh.count = 0;
    fresh.longest = 0;
    return fresh;
  }

  /// A bracket in a bracket only groups: "[1,[3-5]]" is "[1,3-5]".
  bool bracket(Bracket& into) {
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
        if (!span(into)) return false;
        after_number = true;
        continue;
      }
      ++at_;
    } while (depth > 0);
    if (into.spans.empty()) return refuse("empty bracket");
    return true;
  }

  bool span(Bracket& into) {
    std::string_view digits;
    if (!number(digits)) return false;
    Span one{node_digits::value_of(digits), 0, node_digits::width_of(digits)};
    one.last = one.first;
    if (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      if (!number(digits)) return false;
      one.last = node_digits::value_of(digits);
      if (one.last < one.first) return refuse("range runs backward");
    }
    // Each count alone may be near 2^64: compare before adding.
    if (one.last - one.first >= limits_.max_nodes - into.count) {
      return exceed("names", limits_.max_nodes);
    }
    into.count += one.last - one.first + 1;
    const std::size_t longest = std::max(one.width, node_digits::count_digits(one.last));
    into.longest = std::max(into.longest, longest);
    into.spans.push_back(one);
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
    std::size_t end = name.size();
    while (end > 0 && node_digits::is_digit(name[end - 1])) --end;
    const std::string_view digits = name.substr(end);
    Range range{.prefix = std::string(name), .suffix = {}};
    if (!digits.empty() && digits.size() <= node_digits::kMaxDigits) {
      const std::uint64_t value = node_digits::value_of(digits);
      range = {std::string(name.substr(0, end)), value, value,
               node_digits::width_of(digits),    true,  {}};
    }
    list_.append(std::move(range));
    return true;
  }

  bool multiply(std::string_view after) {
    std::uint64_t total = 1;
    for (std::size_t i = 0; i < brackets_; ++i) {
      if (pool_[i].count > (limits_.max_nodes - list_.size_) / total) {
        return exceed("names", limits_.max_nodes);
      }
      total *= pool_[i].count;
    }
    // Brackets of one number behind the last longer one are text that follows its numbers.
    std::size_t running = brackets_ - 1;
    while (running > 0 && pool_[running].count == 1) --running;
    std::string suffix;
    for (std::size_t i = running + 1; i < brackets_; ++i) {
      suffix += pool_[i].before;
      node_digits::append_number(suffix, pool_[i].spans[0].first, pool_[i].spans[0].width);
    }
    suffix += after;
    std::string prefix;
    emit(0, running, prefix, suffix);
    return true;
  }

  void emit(std::size_t index, std::size_t running, std::string& prefix,
            const std::string& suffix) {
    const std::size_t size = prefix.size();
    const Bracket& here = pool_[index];
    prefix += here.before;
    for (const Span& one : here.spans) {
      if (index == running) {
        list_.append({prefix, one.first, one.last, one.width, true, suffix});
        continue;
      }
      const std::size_t stem = prefix.size();
      for (std::uint64_t left = one.last - one.first + 1; left > 0; --left) {
        node_digits::append_number(prefix, one.last - left + 1, one.width);
        emit(index + 1, running, prefix, suffix);
        prefix.resize(stem);
      }
    }
    prefix.resize(size);
  }

  std::string_view text_;
  const Limits& limits_;
  std::size_t at_ = 0;
  NodeList list_;
  std::vector<Bracket> pool_;
  std::size_t brackets_ = 0;  ///< of the pool, in use by the present item
  Error error_{};
};

Result<NodeList> NodeList::parse(std::string_view text, const Limits& limits) {
  return Parser(text, limits).run();
}

}  // namespace hal
