// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_messages.h"

#include <cerrno>
#include <sys/socket.h>
#include <sys/uio.h>

namespace hal::host {

Result<std::pair<MessageSocket, MessageSocket>> MessageSocket::make_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "socketpair");
  }
  return std::pair{MessageSocket(UniqueFd(ends[0])), MessageSocket(UniqueFd(ends[1]))};
}

bool MessageSocket::send_bytes(MessageKind kind, std::span<const std::byte> body) const {
  iovec parts[2] = {{.iov_base = &kind, .iov_len = sizeof kind},
                    {.iov_base = const_cast<std::byte*>(body.data()), .iov_len = body.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = body.empty() ? 1 : 2;
  while (::sendmsg(fd_.get(), &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

MessageSocket::Receive MessageSocket::receive(Message& message) {
  constexpr std::size_t kBufferSize = sizeof(MessageKind) + kMaxBody;
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferSize);
  ssize_t size;
  do {
    size = ::recv(fd_.get(), buffer_.get(), kBufferSize, MSG_DONTWAIT);
    // A peer that went away with orders unread is told by an error first; what it sent follows.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Receive::nothing;
  if (size < static_cast<ssize_t>(sizeof(MessageKind))) return Receive::closed;
  std::memcpy(&message.kind, buffer_.get(), sizeof(MessageKind));
  message.body = {buffer_.get() + sizeof(MessageKind),
                  static_cast<std::size_t>(size) - sizeof(MessageKind)};
  return Receive::message;
}

}  // namespace hal::host
