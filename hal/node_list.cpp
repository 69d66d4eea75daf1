// SPDX-License-Identifier: BSD-3-Clause
#include "hal/node_list.h"

#include <algorithm>

#include "hal/node_digits.h"

namespace hal {
namespace {

using node_digits::count_digits;
using node_digits::DigitRun;
using node_digits::increment;

/// The run of digits that is all in which `next` differs from `name` and that counts on by one.
DigitRun continued_run(std::string_view name, std::string_view next) {
  const auto differs = std::ranges::mismatch(name, next).in1;
  auto start = static_cast<std::size_t>(differs - name.begin());
  while (start > 0 && node_digits::is_digit(name[start - 1])) --start;
  std::size_t end = start;
  while (end < name.size() && node_digits::is_digit(name[end])) ++end;
  const std::size_t grown = next.size() - name.size();  // 1 when all nines became 10..0
  if (end == start || end - start > node_digits::kMaxDigits || grown > 1 ||
      next.substr(end + grown) != name.substr(end)) {
    return {};
  }
  std::string expected(name.substr(start, end - start));
  std::size_t size = expected.size();
  if (!increment(expected, 0, size) || size != end - start + grown) return {};
  if (next.substr(start, size) != expected) return {};
  return {start, end - start};
}

}  // namespace

/// Collects names; remembers the text of the name that would continue the last run, so that the
/// usual case is one comparison.
class NodeList::NameMerger {
 public:
  explicit NameMerger(NodeList& list) : list_(list) {}

  void add(std::string_view name) {
    if (name.empty()) return;
    if (!is_expected(name) && single_) {
      const DigitRun other = continued_run(single_name_, name);
      if (other.size > 0) {
        // The last run is one name and counts on in another place than its last digits.
        list_.size_ -= 1;
        list_.runs_.pop_back();
        start_run(single_name_, other);
      }
    }
    if (is_expected(name)) {
      ++list_.runs_.back().last;
      ++list_.size_;
      single_ = false;
      has_expected_ = increment(expected_, digits_.start, digits_.size);
    } else {
      start_run(name, node_digits::last_run(name));
    }
  }

 private:
  [[nodiscard]] bool is_expected(std::string_view name) const {
    return has_expected_ && name == expected_;
  }

  void start_run(std::string_view name, DigitRun digits) {
    const std::string_view number = name.substr(digits.start, digits.size);
    Run run{0, 0, 0, 0, 0};
    if (digits.size == 0) {
      run.family = list_.family(name, {});
    } else {
      run.first = run.last = node_digits::value_of(number);
      run.width = node_digits::width_of(number);
      run.family =
          list_.family(name.substr(0, digits.start), name.substr(digits.start + digits.size));
    }
    list_.append(run);
    single_ = true;
    single_name_ = name;
    digits_ = digits;
    expected_ = name;
    has_expected_ = digits.size > 0 && increment(expected_, digits_.start, digits_.size);
  }

  NodeList& list_;
  std::string expected_;
  std::string_view single_name_;
  DigitRun digits_;  ///< of `expected_`
  bool has_expected_ = false;
  bool single_ = false;  ///< the last run is just `single_name_`
};

NodeList::Range NodeList::range(std::size_t at) const {
  const Run& run = runs_[at];
  const Family& texts = families_[run.family];
  return {texts.prefix, run.first, run.last, run.width, run.width > 0, texts.suffix};
}

std::uint32_t NodeList::family(std::string_view prefix, std::string_view suffix) {
  if (families_.empty() || families_.back().prefix != prefix || families_.back().suffix != suffix) {
    families_.push_back({std::string(prefix), std::string(suffix)});
  }
  return static_cast<std::uint32_t>(families_.size() - 1);
}

/// True if `next` goes on where `run` ends, with the same padding.
bool NodeList::continues(const Run& run, const Run& next) {
  if (next.first != run.last + 1 || run.family != next.family || run.width == 0) return false;
  if (run.width == next.width) return true;
  const unsigned digits = count_digits(next.first);
  return next.width > 0 && run.width <= digits && next.width <= digits;
}

void NodeList::append(Run run) {
  run.start = size_;
  size_ += run.count();
  if (!runs_.empty() && continues(runs_.back(), run)) {
    runs_.back().last = run.last;
  } else {
    runs_.push_back(run);
  }
}

NodeList NodeList::from_names(std::span<const std::string> names) {
  NodeList list;
  NameMerger merger(list);
  for (const std::string& name : names) merger.add(name);
  return list;
}

void NodeList::append_name(std::string& text, const Run& run, std::uint64_t number) const {
  const Family& texts = families_[run.family];
  text += texts.prefix;
  if (run.width > 0) node_digits::append_number(text, number, run.width);
  text += texts.suffix;
}

std::string NodeList::at(std::size_t index) const {
  const auto after = std::ranges::upper_bound(runs_, index, {}, &Run::start);
  const Run& run = *(after - 1);
  std::string name;
  append_name(name, run, run.first + (index - run.start));
  return name;
}

std::optional<std::size_t> NodeList::index_of(std::string_view name) const {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t family = kNone;
  std::string_view digits;  // what `name` has between the texts of that family; empty: foreign
  std::uint64_t number = 0;
  std::size_t significant = 0;
  for (const Run& run : runs_) {
    if (run.width == 0) {
      if (name == families_[run.family].prefix) return run.start;
      continue;
    }
    if (run.family != family) {
      family = run.family;
      const Family& texts = families_[family];
      digits = node_digits::between(name, texts.prefix, texts.suffix);
      number = node_digits::value_of(digits);
      significant = count_digits(number);
    }
    if (number < run.first || number > run.last || digits.empty()) continue;
    if (digits.size() == std::max<std::size_t>(run.width, significant)) {
      return run.start + (number - run.first);
    }
  }
  return std::nullopt;
}

std::vector<std::string> NodeList::expand() const {
  std::vector<std::string> names;
  names.reserve(size_);
  std::string name;
  for (const Run& run : runs_) {
    const Family& texts = families_[run.family];
    name.clear();
    append_name(name, run, run.first);
    names.push_back(name);
    std::size_t size = name.size() - texts.prefix.size() - texts.suffix.size();
    for (std::uint64_t left = run.count() - 1; left > 0; --left) {
      increment(name, texts.prefix.size(), size);
      names.push_back(name);
    }
  }
  return names;
}

std::string NodeList::ranged() const {
  std::string text;
  for (auto at = runs_.begin(); at != runs_.end();) {
    if (at != runs_.begin()) text += ',';
    const auto end = std::find_if(at + 1, runs_.end(), [&](const Run& next) {
      return next.family != at->family || next.width == 0 || at->width == 0;
    });
    if (end == at + 1 && at->first == at->last) {
      append_name(text, *at, at->first);
      at = end;
      continue;
    }
    const Family& texts = families_[at->family];
    text += texts.prefix;
    for (char opening = '['; at != end; ++at, opening = ',') {
      text += opening;
      node_digits::append_number(text, at->first, at->width);
      if (at->last == at->first) continue;
      text += '-';
      node_digits::append_number(text, at->last, at->width);
    }
    text += ']';
    text += texts.suffix;
  }
  return text;
}

}  // namespace hal
