// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "hal/bytes.h"
#include "hal/result.h"
#include "hal/step_layout.h"
#include "hal/types.h"

namespace hal {

/// Wire form of a backend's credentials. Stateless and re-entrant: every process that meets a
/// credential (controller, launcher, node daemon, tasks) uses one, from any thread, without a lock,
/// with no hardware and no vendor library. Clauses IC-20..IC-24.
class CredentialCodec {
 public:
  virtual ~CredentialCodec() = default;

  /// Decodes one credential and validates every field before anything is returned. [IC-20]
  /// Consumes exactly its bytes: more may follow in the message. An unbuilt credential, which hosts
  /// do pack, has the wire form that the backend defines for it.
  /// @return corrupt: short or damaged; the reader's position is then unspecified.
  [[nodiscard]] virtual Result<Credential> decode(ByteReader& reader) const = 0;

  /// Bytes that travel for `credential`. Read-only: many threads encode one object. [IC-21]
  /// @return a view into the credential, or static bytes for an unbuilt one.
  [[nodiscard]] virtual std::span<const std::byte> encode(const Credential& credential) const = 0;

  /// One line for people, without any secret. [IC-22]
  [[nodiscard]] virtual std::string describe(const Credential& credential) const = 0;

  /// Several lines for people (the document's print function), without any secret.
  [[nodiscard]] virtual std::string describe_long(const Credential& credential) const = 0;
};

/// Allocation for the whole machine: arithmetic on recorded state, **no hardware**. Runs in the
/// controller as the service user; thread safe. Clauses IC-10..IC-19.
class InterconnectController {
 public:
  virtual ~InterconnectController() = default;

  /// Takes up the state saved in `directory` and reconciles it with `recovered`, the credentials of
  /// steps that are still running: grants without a step are freed, steps without a grant are
  /// added. Missing state is an empty state. From now on each change is written there. [IC-10]
  /// No directory: start empty and save nothing. Called again: replaces the state. A damaged file
  /// is kept aside, logged, and replaced by what `recovered` tells, unless the backend cannot
  /// rebuild its state from credentials or its site forbids that by an option.
  /// @return corrupt: such a damaged file; the state in memory is as before the call.
  [[nodiscard]] virtual Result<> load(const std::optional<std::string>& directory,
                                      std::span<const Credential* const> recovered) = 0;

  /// Writes the state to `directory`; memory stays usable. [IC-11]
  [[nodiscard]] virtual Result<> save(const std::string& directory) = 0;

  /// Grants what `layout` needs and describes it; on failure nothing stays granted. [IC-12]
  /// @return invalid_argument: bad layout or node order; not_found: unknown node; exhausted: no
  /// contexts left (code EAGAIN).
  [[nodiscard]] virtual Result<Credential> build_credential(const StepLayout& layout) = 0;

  /// Frees the grant that `credential` names. Idempotent: an unknown, unbuilt or already released
  /// one is success and touches no other grant. [IC-13]
  [[nodiscard]] virtual Result<> release(const Credential& credential) = 0;

  /// Forgets every grant. Source: late switch API, libstate_clear. [IC-14]
  [[nodiscard]] virtual Result<> clear() = 0;

  /// Takes what a node reported. [IC-15] @return corrupt: does not decode.
  [[nodiscard]] virtual Result<> accept_node_record(const NodeRecord& record) = 0;

  /// True if no job may start while another one ends. Source: switch API v0, no_frag. [IC-16]
  [[nodiscard]] virtual bool delays_scheduling() const = 0;
};

/// Who is to be gone when a context is destroyed.
struct DestroyContext {
  JobId job{};
  StepId step{};
  pid_t process_group = 0;  ///< what the host passes as pgid; 0 means unknown, never "my group"
};

/// Hardware side of a step's interconnect context on one node. One object per process. Every call
/// is valid in any stage of the step and in either process shape: prepare and destroy in the job
/// manager, open and leave in the session manager or in the same process. Clauses IC-01..IC-09.
class InterconnectNode {
 public:
  virtual ~InterconnectNode() = default;

  /// Once a daemon run, as root, before any thread; must not disturb running steps. [IC-01]
  [[nodiscard]] virtual Result<> start() = 0;

  /// Joins what `start` began. start-stop-start works. [IC-02]
  [[nodiscard]] virtual Result<> stop() = 0;

  /// Frees whatever earlier steps left on this node. [IC-03]
  [[nodiscard]] virtual Result<> clear() = 0;

  /// What this node reports to the controller; any thread, any time. [IC-04]
  [[nodiscard]] virtual Result<NodeRecord> record() = 0;

  /// Root, in the job manager, before the session manager exists; undoes itself on failure, because
  /// `destroy_context` is not called after a failed prepare. [IC-05]
  [[nodiscard]] virtual Result<> prepare(const Credential& credential) = 0;

  /// Creates the context named by `credential` for `owner`. Root, before any task exists. [IC-06]
  /// @return busy: live on this node; no_device: library or adapter absent; corrupt: bad
  /// credential.
  [[nodiscard]] virtual Result<> open_context(const Credential& credential, uid_t owner) = 0;

  /// Joins the calling process; as the user, between fork and exec. [IC-07]
  /// @return variables that replace inherited ones; not_found: no such context here.
  [[nodiscard]] virtual Result<EnvUpdates> attach(const Credential& credential,
                                                  const TaskPlace& task) = 0;

  /// All tasks are gone; may run as the user, and may never run. [IC-08]
  [[nodiscard]] virtual Result<> leave(const Credential& credential) = 0;

  /// Destroys the context after the last task, as root, in the job manager; ends stragglers and
  /// gives up after a bounded wait. Already gone, or never opened, is success. [IC-09]
  /// @return timed_out: members survive.
  [[nodiscard]] virtual Result<> destroy_context(const Credential& credential,
                                                 const DestroyContext& context) = 0;

  /// Stops and resumes the traffic of a step. @return unsupported where the vendor cannot.
  [[nodiscard]] virtual Result<> suspend(const Credential& credential) = 0;
  [[nodiscard]] virtual Result<> resume(const Credential& credential) = 0;
};

}  // namespace hal
