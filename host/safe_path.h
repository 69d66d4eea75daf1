// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "hal/result.h"
#include "hal/vendor_library.h"

namespace hal::host {

/// A directory whose whole path only root and the effective user can change, held open.
struct SafeDirectory {
  std::string path;  ///< absolute, free of links
  UniqueFd fd;       ///< O_PATH
};

/// Opens a directory step by step from the root: each one on the way belongs to root or the
/// effective user and is not writable by group or others (on the way, but not at its end, a sticky
/// directory of root's passes, because nobody can replace others' entries there). Links that root
/// or the effective user made are followed, by the same steps.
/// @return not_found; no_permission: names the component, its owner and mode, and the cure;
/// invalid_argument: not absolute, not a directory.
[[nodiscard]] Result<SafeDirectory> open_safe_directory(std::string_view path);

/// The same, but a sticky directory of root's passes at the end too: one in which something of our
/// own can be created, such as /tmp, but nothing is to be looked up by name.
[[nodiscard]] Result<SafeDirectory> open_parent_directory(std::string_view path);

/// A regular file under the same rules, open for reading; never a link.
/// @return not_found; no_permission.
[[nodiscard]] Result<UniqueFd> open_safe_file(const SafeDirectory& directory,
                                              const std::string& name);

/// Absolute form of `path`, which may be relative to the working directory; links stay.
[[nodiscard]] Result<std::string> make_absolute(std::string_view path);

}  // namespace hal::host
