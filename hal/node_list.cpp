// SPDX-License-Identifier: BSD-3-Clause
#include "hal/node_list.h"

#include <algorithm>
#include <cstring>

#include "hal/node_digits.h"

namespace hal {
namespace {

using Range = NodeList::Range;
using node_digits::count_digits;
using node_digits::increment;
using node_digits::kMaxDigits;

/// Where the last run of digits of a name is; size 0 when there is none that fits a number.
struct DigitRun {
  std::size_t start = 0;
  std::size_t size = 0;
};

DigitRun last_digit_run(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !node_digits::is_digit(name[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && node_digits::is_digit(name[start - 1])) --start;
  if (end - start > kMaxDigits) return {};
  return {start, end - start};
}

Range split(std::string_view name, DigitRun run) {
  if (run.size == 0) return Range{.prefix = std::string(name), .suffix = {}};
  const std::string_view digits = name.substr(run.start, run.size);
  const std::uint64_t number = node_digits::value_of(digits);
  return Range{.prefix = std::string(name.substr(0, run.start)),
               .first = number,
               .last = number,
               .width = node_digits::width_of(digits),
               .numbered = true,
               .suffix = std::string(name.substr(run.start + run.size))};
}

/// The run of digits that is all in which `next` differs from `name` and that counts on by one.
DigitRun continued_run(std::string_view name, std::string_view next) {
  const auto differs = std::ranges::mismatch(name, next).in1;
  auto start = static_cast<std::size_t>(differs - name.begin());
  while (start > 0 && node_digits::is_digit(name[start - 1])) --start;
  std::size_t end = start;
  while (end < name.size() && node_digits::is_digit(name[end])) ++end;
  if (end == start || end - start > kMaxDigits) return {};

  std::string expected(name);
  std::size_t size = end - start;
  if (!increment(expected, start, size) || expected != next) return {};
  return {start, end - start};
}

void append_text(std::string& text, const Range& range, std::uint64_t number) {
  text += range.prefix;
  if (range.numbered) node_digits::append_number(text, number, range.width);
  text += range.suffix;
}

bool same_family(const Range& a, const Range& b) {
  return a.numbered && b.numbered && a.prefix == b.prefix && a.suffix == b.suffix;
}

/// True if `next` goes on where `range` ends, with the same padding.
bool continues(const Range& range, const Range& next) {
  if (next.first != range.last + 1 || !same_family(range, next)) return false;
  const unsigned digits = count_digits(next.first);
  return range.width == next.width || (range.width <= digits && next.width <= digits);
}

bool contains(const Range& range, std::string_view name, std::uint64_t& number) {
  if (!range.numbered) return name == range.prefix;
  const std::size_t fixed = range.prefix.size() + range.suffix.size();
  if (name.size() <= fixed || name.size() - fixed > kMaxDigits || !name.starts_with(range.prefix) ||
      !name.ends_with(range.suffix)) {
    return false;
  }
  const std::string_view digits = name.substr(range.prefix.size(), name.size() - fixed);
  if (!std::ranges::all_of(digits, node_digits::is_digit)) return false;
  number = node_digits::value_of(digits);
  return number >= range.first && number <= range.last &&
         digits.size() == std::max(range.width, count_digits(number));
}

void expand_range(const Range& range, std::vector<std::string>& names) {
  std::string name;
  append_text(name, range, range.first);
  std::size_t size = name.size() - range.prefix.size() - range.suffix.size();
  for (std::uint64_t left = range.count(); left > 1; --left) {
    names.emplace_back(name);
    increment(name, range.prefix.size(), size);
  }
  names.push_back(std::move(name));
}

}  // namespace

/// Collects names; remembers the text of the name that would continue the last range, so that the
/// usual case is one comparison.
class NodeList::NameMerger {
 public:
  explicit NameMerger(NodeList& list) : list_(list) {}

  void add(std::string_view name) {
    if (name.empty()) return;
    if (has_expected_ && name == expected_) {
      ++list_.ranges_.back().last;
      ++list_.size_;
      single_ = false;
    } else if (const DigitRun run = single_ ? continued_run(single_name_, name) : DigitRun{};
               run.size > 0) {
      restart_last(run);
    } else {
      start_range(name);
      return;
    }
    has_expected_ = increment(expected_, digits_at_, digits_);
  }

 private:
  void start_range(std::string_view name) {
    const DigitRun run = last_digit_run(name);
    list_.append(split(name, run));
    single_ = true;
    single_name_ = name;
    expect_after(run);
  }

  /// The last range is one name and counts on in another place than its last digits.
  void restart_last(DigitRun run) {
    Range& last = list_.ranges_.back();
    last = split(single_name_, run);
    ++last.last;
    ++list_.size_;
    single_ = false;
    expect_after(run);
  }

  void expect_after(DigitRun run) {
    digits_at_ = run.start;
    digits_ = run.size;
    expected_ = single_name_;
    has_expected_ = run.size > 0 && increment(expected_, digits_at_, digits_);
  }

  NodeList& list_;
  std::string expected_;
  std::string_view single_name_;
  std::size_t digits_at_ = 0;
  std::size_t digits_ = 0;
  bool has_expected_ = false;
  bool single_ = false;  ///< the last range is just `single_name_`
};

void NodeList::append(Range range) {
  const std::uint64_t count = range.count();
  if (!ranges_.empty()) {
    if (continues(ranges_.back(), range)) {
      ranges_.back().last = range.last;
      size_ += count;
      return;
    }
    if (starts_.empty()) starts_.push_back(0);
    starts_.push_back(size_);
  }
  ranges_.push_back(std::move(range));
  size_ += count;
}

NodeList NodeList::from_names(std::span<const std::string> names) {
  NodeList list;
  NameMerger merger(list);
  for (const std::string& name : names) merger.add(name);
  return list;
}

std::string NodeList::at(std::size_t index) const {
  std::size_t position = 0;
  if (!starts_.empty()) {
    const auto after = std::ranges::upper_bound(starts_, index);
    position = static_cast<std::size_t>(after - starts_.begin()) - 1;
    index -= starts_[position];
  }
  const Range& range = ranges_[position];
  std::string name;
  append_text(name, range, range.first + index);
  return name;
}

std::optional<std::size_t> NodeList::index_of(std::string_view name) const {
  std::size_t start = 0;
  for (const Range& range : ranges_) {
    std::uint64_t number = range.first;
    if (contains(range, name, number)) return start + (number - range.first);
    start += range.count();
  }
  return std::nullopt;
}

std::vector<std::string> NodeList::expand() const {
  std::vector<std::string> names;
  names.reserve(size_);
  for (const Range& range : ranges_) expand_range(range, names);
  return names;
}

std::string NodeList::ranged() const {
  std::string text;
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    if (at != ranges_.begin()) text += ',';
    const auto end = std::find_if_not(at + 1, ranges_.end(),
                                      [&](const Range& next) { return same_family(*at, next); });
    if (end == at + 1 && at->count() == 1) {
      append_text(text, *at, at->first);
    } else {
      text += at->prefix;
      for (char opening = '['; at != end; ++at, opening = ',') {
        text += opening;
        node_digits::append_number(text, at->first, at->width);
        if (at->last == at->first) continue;
        text += '-';
        node_digits::append_number(text, at->last, at->width);
      }
      text += ']';
      text += (end - 1)->suffix;
    }
    at = end;
  }
  return text;
}

}  // namespace hal
