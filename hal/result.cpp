// SPDX-License-Identifier: BSD-3-Clause
#include "hal/result.h"

#include <cerrno>
#include <cstring>

namespace hal {

std::string_view to_string(Errc kind) noexcept {
  switch (kind) {
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::not_found:
      return "not_found";
    case Errc::busy:
      return "busy";
    case Errc::no_permission:
      return "no_permission";
    case Errc::unsupported:
      return "unsupported";
    case Errc::no_device:
      return "no_device";
    case Errc::exhausted:
      return "exhausted";
    case Errc::corrupt:
      return "corrupt";
    case Errc::timed_out:
      return "timed_out";
    case Errc::vendor:
      return "vendor";
    case Errc::internal:
      return "internal";
  }
  return "internal";
}

Errc kind_of_errno(int error_number) noexcept {
  switch (error_number) {
    case EINVAL:
    case E2BIG:
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case EDOM:
    case ERANGE:
      return Errc::invalid_argument;
    case ENOENT:
    case ESRCH:
    case ECHILD:
    case ENODATA:
    case ESTALE:
      return Errc::not_found;
    case EBUSY:
    case EEXIST:
    case EADDRINUSE:
    case EINPROGRESS:
      return Errc::busy;
    case EACCES:
    case EPERM:
    case EROFS:
      return Errc::no_permission;
    case ENOSYS:
    case EOPNOTSUPP:
      return Errc::unsupported;
    case ENODEV:
    case ENXIO:
      return Errc::no_device;
    case EAGAIN:
    case ENOSPC:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case EDQUOT:
      return Errc::exhausted;
    case EBADMSG:
    case EILSEQ:
    case EPROTO:
      return Errc::corrupt;
    case ETIMEDOUT:
      return Errc::timed_out;
    default:
      return Errc::internal;
  }
}

Failure fail(Errc kind, int code, std::string detail) {
  if (code == 0) code = kind == Errc::invalid_argument ? EINVAL : EIO;
  return Failure(Error{kind, code, std::move(detail)});
}

Failure fail_errno(int error_number, std::string_view what) {
  // strerrordesc_np is re-entrant and its texts are static.
  const char* text = ::strerrordesc_np(error_number);
  std::string detail(what);
  detail += ": ";
  detail += text != nullptr ? text : "unknown error";
  return fail(kind_of_errno(error_number), error_number, std::move(detail));
}

}  // namespace hal
