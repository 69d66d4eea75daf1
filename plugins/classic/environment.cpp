// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/environment.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include "plugins/classic/memory.h"

namespace hal::classic {
namespace {

Failure no_memory() { return fail(Errc::exhausted, ENOMEM, "no memory for the environment"); }

std::size_t count(char* const* variables) noexcept {
  std::size_t used = 0;
  while (variables != nullptr && variables[used] != nullptr) ++used;
  return used;
}

bool names(const char* variable, std::string_view name) noexcept {
  return std::strncmp(variable, name.data(), name.size()) == 0 && variable[name.size()] == '=';
}

HeaderForm form_of(const void* array) noexcept {
  const auto block = find_block(array);
  return block ? block->form : HeaderForm::two_ints;
}

char* make_variable(HeaderForm form, std::string_view name, std::string_view value) noexcept {
  auto* text = static_cast<char*>(allocate_block(form, name.size() + value.size() + 2));
  if (text == nullptr) return nullptr;
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '=';
  if (!value.empty()) std::memcpy(text + name.size() + 1, value.data(), value.size());
  return text;
}

/// Room for one entry more. An array of unknown making is left to its maker and copied.
bool grow(char**& variables, std::size_t used) noexcept {
  const std::size_t bytes = (used + 2) * sizeof(char*);
  const auto block = find_block(variables);
  if (block && block->size >= bytes) return true;
  const std::size_t roomy = bytes + 16 * sizeof(char*);
  void* moved =
      block ? resize_block(variables, *block, roomy) : allocate_block(HeaderForm::two_ints, roomy);
  if (moved == nullptr) return false;
  auto** array = static_cast<char**>(moved);
  if (!block && used > 0) std::memcpy(array, variables, used * sizeof(char*));
  variables = array;
  return true;
}

/// Puts `text` where the variable stands and closes the gaps of its later occurrences.
bool replace(char** variables, std::string_view name, char* text) noexcept {
  bool replaced = false;
  char** keep = variables;
  for (char** entry = variables; *entry != nullptr; ++entry) {
    if (!names(*entry, name)) {
      *keep++ = *entry;
      continue;
    }
    free_block(*entry);
    if (!replaced) *keep++ = text;
    replaced = true;
  }
  *keep = nullptr;
  return replaced;
}

Result<> set(char**& variables, const std::string& name, const std::string& value) {
  if (name.empty() || name.find('=') != std::string::npos) {
    return fail(Errc::invalid_argument, EINVAL, "variable name \"" + name + "\" is not valid");
  }
  const std::size_t used = count(variables);
  if (!grow(variables, used)) return no_memory();
  char* text = make_variable(form_of(variables), name, value);
  if (text == nullptr) return no_memory();
  if (replace(variables, name, text)) return {};
  variables[used] = text;
  variables[used + 1] = nullptr;
  return {};
}

}  // namespace

Result<> update_environment(char*** environment, const EnvUpdates& updates) {
  if (updates.empty()) return {};
  if (environment == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "the host gave no environment to change");
  }
  for (const auto& [name, value] : updates) {
    if (auto done = set(*environment, name, value); !done) return done;
  }
  return {};
}

}  // namespace hal::classic
