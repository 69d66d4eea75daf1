// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "hal/interconnect.h"
#include "plugins/fork_local.h"
#include "plugins/grant_ledger.h"
#include "plugins/handle.h"
#include "plugins/service.h"

namespace hal::plugin {

/// What stands behind the host's credential handle ("jobinfo").
struct StepCredential {
  static constexpr std::uint32_t kMagic = 0x4a4f4249;
  static constexpr const char* kWhat = "switch credential";

  Credential credential;
  std::shared_ptr<Grant> grant;  ///< set on the owner only
  bool candidate = false;        ///< unpacked, or named by the host, before the state was loaded
};
using JobInfo = Handle<StepCredential>;

/// What stands behind the host's node state handle ("node info").
struct NodeState {
  static constexpr std::uint32_t kMagic = 0x4e4f4445;
  static constexpr const char* kWhat = "switch node record";

  NodeRecord record;
  bool filled = false;  ///< built or decoded, even if the result is empty
};
using NodeInfo = Handle<NodeState>;

/// How the tasks of a step are given: their number, or the number on each node.
struct StepRequest {
  std::string_view nodes;
  std::variant<std::uint32_t, const int*> tasks;
  bool cyclic = false;
};

/// How the controller starts. Source: switch call order sheet 5.1.
struct Restore {
  std::optional<std::string> directory;  ///< none: cold start without a place for state
  bool recover = true;                   ///< false: forget what is recorded there
  bool steps_follow = false;             ///< the host names the live steps after this call
};

/// Every verb of the switch family once, for all faces. Handles may be null wherever hosts pass
/// null: that means an unbuilt credential. Ownership of grants: the handle on which build
/// succeeded is the owner, copies and received ones are not; the first of step_complete and free
/// of the owner releases, and nothing does after a save. Source: call order sheet 4.2.
class SwitchService final : public Service {
 public:
  SwitchService(const HostSymbols& symbols, BoundBackend bound);
  ~SwitchService() override;

  /// Makes the codec; no other role.
  [[nodiscard]] Result<> open();

  // Credentials: any process, any thread. switch_service.cpp
  [[nodiscard]] JobInfo* make_credential() { return JobInfo::make(); }
  [[nodiscard]] Result<JobInfo*> copy(const JobInfo* source);
  void free(JobInfo* handle);
  [[nodiscard]] std::span<const std::byte> encode(const JobInfo* handle) const;
  /// Fills `handle` from the start of `bytes`. @return bytes used.
  [[nodiscard]] Result<std::size_t> decode(JobInfo* handle, std::span<const std::byte> bytes);
  [[nodiscard]] Result<> query(const JobInfo* handle, int key, const void* out) const;
  [[nodiscard]] std::string describe(const JobInfo* handle) const;
  [[nodiscard]] std::string describe_long(const JobInfo* handle) const;
  [[nodiscard]] const char* describe_error(int code) const noexcept;

  // Controller. switch_controller.cpp
  [[nodiscard]] Result<> restore(const Restore& request);
  [[nodiscard]] Result<> save(const std::string& directory);
  [[nodiscard]] Result<> clear_grants();
  [[nodiscard]] Result<> build(JobInfo* handle, const StepRequest& request);
  [[nodiscard]] Result<> step_complete(JobInfo* handle);
  [[nodiscard]] Result<> step_allocated(JobInfo* handle);
  [[nodiscard]] Result<bool> delays_scheduling();

  // Node records. switch_node.cpp
  [[nodiscard]] Result<> fill(NodeInfo* info);
  [[nodiscard]] std::vector<std::byte> encode(const NodeInfo* info) const;
  /// Takes a record that a node sent and shows it to the controller. @return bytes used.
  [[nodiscard]] Result<std::size_t> decode(NodeInfo* info, std::span<const std::byte> bytes);
  [[nodiscard]] std::string describe(const NodeInfo* info) const;

  // Node and step. switch_node.cpp
  [[nodiscard]] Result<> node_start();
  [[nodiscard]] Result<> node_stop();
  [[nodiscard]] Result<> node_clear();
  [[nodiscard]] Result<> prepare(const JobInfo* handle);
  [[nodiscard]] Result<> open_context(const JobInfo* handle, uid_t owner);
  [[nodiscard]] Result<EnvUpdates> attach(const JobInfo* handle, const TaskPlace& task);
  [[nodiscard]] Result<> leave(const JobInfo* handle);
  [[nodiscard]] Result<> destroy_context(const JobInfo* handle, const DestroyContext& context);

 private:
  /// Handles that may turn out to own grants once the state is loaded.
  struct Candidates {
    std::mutex mutex;
    std::unordered_set<JobInfo*> handles;
  };
  /// What a child after fork must not share with a multi-threaded parent: it starts with none. The
  /// processes of a step have one thread each; from prepare on they inherit the node role.
  struct PerProcess {
    Lazy<InterconnectNode> node;
    Lazy<Candidates> candidates;
  };

  /// The handle's credential; a null handle stands for an unbuilt one.
  [[nodiscard]] const Credential& credential_of(const JobInfo* handle) const noexcept {
    return handle != nullptr ? handle->value.credential : unbuilt_;
  }
  void own(JobInfo* handle);

  [[nodiscard]] Result<InterconnectController*> controller();
  [[nodiscard]] Result<InterconnectNode*> node();
  template <class Use>
  [[nodiscard]] auto on_node(Use&& use) -> decltype(use(std::declval<InterconnectNode&>()));
  [[nodiscard]] Result<Candidates*> candidates();

  void keep_over_fork();
  void note_candidate(JobInfo* handle);
  void drop_candidate(JobInfo* handle);
  std::vector<JobInfo*> take_candidates();
  [[nodiscard]] Result<> load(const std::optional<std::string>& directory);
  [[nodiscard]] Result<> finish_restore();
  [[nodiscard]] Result<> release(Grant& grant);

  const Credential unbuilt_;
  std::unique_ptr<CredentialCodec> codec_;
  Lazy<InterconnectController> controller_;
  ForkLocal<PerProcess> per_process_;
  std::atomic<InterconnectNode*> step_node_{nullptr};  ///< owned; set once a step was prepared
  GrantLedger ledger_;
  std::atomic<bool> collecting_{true};  ///< decoded credentials are candidates
  std::atomic<bool> frozen_{false};     ///< saved: the file must stay true
  std::atomic<bool> pending_{false};    ///< `pending_directory_` waits for finish_restore
  std::mutex restore_mutex_;
  std::string pending_directory_;
  std::optional<std::string> directory_;
};

}  // namespace hal::plugin
