// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include "plugins/switch_service.h"

namespace hal::plugin {
namespace {

constexpr std::uint32_t kMaxNodeRecord = 64 * 1024;

}  // namespace

Result<InterconnectNode*> SwitchService::node() {
  return per_process_.get().node.get(
      [this] { return make_role(backend().make_interconnect_node); });
}

/// Calls `use(role)`; the role exists in all but the first call of a process.
template <class Use>
auto SwitchService::on_node(Use&& use) -> decltype(use(std::declval<InterconnectNode&>())) {
  InterconnectNode* role = step_node_.load(std::memory_order_acquire);
  if (role == nullptr) role = per_process_.get().node.peek();
  if (role != nullptr) [[likely]]
    return use(*role);
  auto made = node();
  if (!made) return propagate(std::move(made));
  return use(**made);
}

Result<> SwitchService::fill(NodeInfo* info) {
  if (info == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "there is no node record to fill");
  }
  info->value.filled = true;  // also after a failure: hosts send the record nevertheless
  auto record = on_node([](InterconnectNode& role) { return role.record(); });
  if (!record) return propagate(std::move(record));
  info->value.record = *std::move(record);
  return {};
}

std::vector<std::byte> SwitchService::encode(const NodeInfo* info) const {
  ByteWriter writer;
  const std::span<const std::byte> wire = info != nullptr
                                              ? std::span<const std::byte>(info->value.record.wire)
                                              : std::span<const std::byte>();
  writer.u32(static_cast<std::uint32_t>(wire.size()));
  writer.append(wire);
  return std::move(writer).release();
}

Result<std::size_t> SwitchService::decode(NodeInfo* info, std::span<const std::byte> bytes) {
  if (info == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "there is no node record to fill");
  }
  ByteReader reader(bytes);
  auto size = reader.u32();
  if (!size) return propagate(std::move(size));
  if (*size > kMaxNodeRecord) {
    return fail(Errc::corrupt, EBADMSG,
                "a node record of " + std::to_string(*size) + " bytes is longer than " +
                    std::to_string(kMaxNodeRecord));
  }
  auto wire = reader.take(*size);
  if (!wire) return propagate(std::move(wire));
  NodeRecord record{{wire->begin(), wire->end()}};
  auto role = controller();
  if (!role) return propagate(std::move(role));
  if (auto accepted = (*role)->accept_node_record(record); !accepted) {
    return propagate(std::move(accepted));
  }
  info->value.record = std::move(record);
  info->value.filled = true;
  return reader.offset();
}

std::string SwitchService::describe(const NodeInfo* info) const {
  if (info == nullptr) return "no record";
  return std::string(backend().name) + ": " + std::to_string(info->value.record.wire.size()) +
         " bytes of node state";
}

Result<> SwitchService::node_start() {
  return on_node([](InterconnectNode& role) { return role.start(); });
}

Result<> SwitchService::node_stop() {
  return on_node([](InterconnectNode& role) { return role.stop(); });
}

Result<> SwitchService::node_clear() {
  return on_node([](InterconnectNode& role) { return role.clear(); });
}

/// The session manager and the tasks go on with what the job manager's role knows.
void SwitchService::keep_over_fork() {
  InterconnectNode* none = nullptr;
  InterconnectNode* role = per_process_.get().node.peek();
  if (role == nullptr || !step_node_.compare_exchange_strong(none, role)) return;
  (void)per_process_.get().node.take().release();  // step_node_ owns it now
}

Result<> SwitchService::prepare(const JobInfo* handle) {
  auto prepared =
      on_node([&](InterconnectNode& role) { return role.prepare(credential_of(handle)); });
  if (prepared) keep_over_fork();
  return prepared;
}

Result<> SwitchService::open_context(const JobInfo* handle, uid_t owner) {
  return on_node(
      [&](InterconnectNode& role) { return role.open_context(credential_of(handle), owner); });
}

Result<EnvUpdates> SwitchService::attach(const JobInfo* handle, const TaskPlace& task) {
  return on_node([&](InterconnectNode& role) { return role.attach(credential_of(handle), task); });
}

Result<> SwitchService::leave(const JobInfo* handle) {
  return on_node([&](InterconnectNode& role) { return role.leave(credential_of(handle)); });
}

Result<> SwitchService::destroy_context(const JobInfo* handle, const DestroyContext& context) {
  return on_node(
      [&](InterconnectNode& role) { return role.destroy_context(credential_of(handle), context); });
}

}  // namespace hal::plugin
