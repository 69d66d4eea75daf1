// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/statistics.h"

#include <algorithm>
#include <cerrno>
#include <sys/shm.h>
#include <unistd.h>

namespace hal::elan {
namespace {

std::size_t size_of(const Capability& capability) {
  const long page = ::sysconf(_SC_PAGESIZE);
  return std::max<std::size_t>(page > 0 ? static_cast<std::size_t>(page) : 0, 8192) *
         (capability.contexts() + 1);
}

/// The step's segment, or -1: of our size, and made by or for this user.
int find(const Capability& capability) {
  const int segment = ::shmget(capability.statistics_key(), 0, 0);
  if (segment < 0) return -1;
  shmid_ds facts{};
  if (::shmctl(segment, IPC_STAT, &facts) != 0) return -1;
  const uid_t me = ::geteuid();
  const bool ours = facts.shm_segsz == size_of(capability) &&
                    (facts.shm_perm.cuid == me || facts.shm_perm.uid == me);
  return ours ? segment : -1;
}

}  // namespace

Result<> create_statistics(const Capability& capability, uid_t owner) {
  const int segment =
      ::shmget(capability.statistics_key(), size_of(capability), IPC_CREAT | IPC_EXCL | 0600);
  if (segment < 0) return fail_errno(errno, "shmget");
  shmid_ds facts{};
  int result = ::shmctl(segment, IPC_STAT, &facts);
  if (result == 0 && facts.shm_perm.uid != owner) {
    facts.shm_perm.uid = owner;
    result = ::shmctl(segment, IPC_SET, &facts);
  }
  if (result == 0) return {};
  const int reason = errno;
  ::shmctl(segment, IPC_RMID, nullptr);
  return fail_errno(reason, "shmctl");
}

bool has_statistics(const Capability& capability) { return find(capability) >= 0; }

void remove_statistics(const Capability& capability) noexcept {
  const int segment = find(capability);
  if (segment >= 0) ::shmctl(segment, IPC_RMID, nullptr);
}

}  // namespace hal::elan
