// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mocks/elan/mock_control.h"

namespace backplane_mock {

/// The vendor's functions as a backend finds them: by name, in an opened library.
struct Vendor {
  explicit Vendor(const std::string& directory = BACKPLANE_MOCK_DIR)
      : rms(open(directory + "/librmscall.so")),
        ctrl(open(directory + "/libelanctrl.so")),
        elan3(open(directory + "/libelan3.so")) {
    find(rms, "rmsmod_init", rmsmod_init);
    find(rms, "rmsmod_fini", rmsmod_fini);
    find(rms, "rms_prgcreate", prgcreate);
    find(rms, "rms_prgdestroy", prgdestroy);
    find(rms, "rms_prgaddcap", prgaddcap);
    find(rms, "rms_setcap", setcap);
    find(rms, "rms_getcap", getcap);
    find(rms, "rms_ncaps", ncaps);
    find(rms, "rms_mycap", mycap);
    find(rms, "rms_getprgid", getprgid);
    find(rms, "rms_prginfo", prginfo);
    find(rms, "rms_prgids", prgids);
    find(rms, "rms_prgsignal", prgsignal);
    find(rms, "rms_prgsuspend", prgsuspend);
    find(rms, "rms_prgresume", prgresume);
    find(ctrl, "elanctrl_open", open_control);
    find(ctrl, "elanctrl_close", close_control);
    find(ctrl, "elanctrl_create_cap", create_cap);
    find(ctrl, "elanctrl_get_position", get_position);
    find(ctrl, "elan_nullcap", nullcap);
  }

  void* rms;
  void* ctrl;
  void* elan3;
  int (*rmsmod_init)() = nullptr;
  void (*rmsmod_fini)() = nullptr;
  int (*prgcreate)(int, uid_t, int) = nullptr;
  int (*prgdestroy)(int) = nullptr;
  int (*prgaddcap)(int, int, void*) = nullptr;
  int (*setcap)(int, int) = nullptr;
  int (*getcap)(int, void*) = nullptr;
  int (*ncaps)(int*) = nullptr;
  int (*mycap)(int*) = nullptr;
  int (*getprgid)(pid_t, int*) = nullptr;
  int (*prginfo)(int, int, pid_t*, int*) = nullptr;
  int (*prgids)(int, int*, int*) = nullptr;
  int (*prgsignal)(int, int) = nullptr;
  int (*prgsuspend)(int) = nullptr;
  int (*prgresume)(int) = nullptr;
  int (*open_control)(void**) = nullptr;
  int (*close_control)(void*) = nullptr;
  int (*create_cap)(void*, ELAN_CAPABILITY*) = nullptr;
  int (*get_position)(void*, std::uint32_t, ELAN_POSITION*) = nullptr;
  void (*nullcap)(ELAN_CAPABILITY*) = nullptr;

  template <class Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
  }

 private:
  static void* open(const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW); }
};

/// A forked process that runs `body(child)` and ends with its value; talks through one socket.
class Child {
 public:
  template <class Body>
  explicit Child(Body&& body) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    pid_ = ::fork();
    socket_ = ends[pid_ == 0 ? 1 : 0];
    ::close(ends[pid_ == 0 ? 0 : 1]);
    if (pid_ == 0) ::_exit(body(*this));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    ::close(socket_);
  }

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void tell(char word = 'g') const { static_cast<void>(::send(socket_, &word, 1, MSG_NOSIGNAL)); }
  void tell_number(int number) const {
    static_cast<void>(::send(socket_, &number, sizeof number, MSG_NOSIGNAL));
  }
  /// 0 when the other side is gone.
  char hear() const {
    char word = 0;
    return ::recv(socket_, &word, 1, MSG_WAITALL) == 1 ? word : '\0';
  }
  int hear_number() const {
    int number = 0;
    return ::recv(socket_, &number, sizeof number, MSG_WAITALL) == sizeof number ? number : 0;
  }
  /// Exit code, or 128 + signal.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int kill_and_wait() {
    ::kill(pid_, SIGKILL);
    return wait();
  }

 private:
  pid_t pid_;
  int socket_;
};

/// A mock kernel of its own for each test; the process is on node n5 and plays root.
class ElanMockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "elan-mock-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    state_ = directory_ + "/state";
    ::setenv("BACKPLANE_MOCK_STATE", state_.c_str(), 1);
    ::setenv("BACKPLANE_MOCK_UID", "0", 1);
    ::setenv("SLURMD_NODENAME", "n5", 1);
    mock_ = ElanMock::open(state_);
    ASSERT_TRUE(mock_);
    ASSERT_NE(vendor_.rms, nullptr) << ::dlerror();
    ASSERT_NE(vendor_.ctrl, nullptr);
    ASSERT_NE(vendor_.elan3, nullptr);
  }
  void TearDown() override {
    vendor_.rmsmod_fini();
    std::filesystem::remove_all(directory_);
  }

  /// Two contexts on nodes 4-7, of which this is node 5.
  [[nodiscard]] static ELAN_CAPABILITY capability(int low = 0x400, int high = 0x401) {
    ELAN_CAPABILITY cap{};
    for (std::uint32_t i = 0; i < 4; ++i) cap.cap_userkey.key_values[i] = 0x11111111U * (i + 1);
    cap.cap_version = kCapVersion;
    cap.cap_type = 0xA001;
    cap.cap_spare = 0xFFFF;
    cap.cap_lowcontext = low;
    cap.cap_highcontext = high;
    cap.cap_mycontext = -1;
    cap.cap_lownode = 4;
    cap.cap_highnode = 7;
    cap.cap_railmask = 1;
    cap.cap_bitmap[0] = 0x73;
    return cap;
  }

  /// 0, or the errno value of a failed call.
  [[nodiscard]] static int outcome(int result) { return result == 0 ? 0 : errno; }

  [[nodiscard]] void* open_handle() const {
    void* handle = nullptr;
    EXPECT_EQ(vendor_.open_control(&handle), 0) << errno;
    return handle;
  }

  /// A process that creates program `id` and stays until it is told to end.
  template <class Body>
  [[nodiscard]] std::unique_ptr<Child> session(int id, Body&& body, uid_t owner = 1000) {
    auto child = std::make_unique<Child>([&](Child& self) {
      if (vendor_.prgcreate(id, owner, 1) != 0) return 100 + errno;
      const int result = body(self);
      self.tell('r');
      self.hear();
      return result;
    });
    return child;
  }
  [[nodiscard]] std::unique_ptr<Child> session(int id) {
    auto child = session(id, [](Child&) { return 0; });
    EXPECT_EQ(child->hear(), 'r');
    return child;
  }

  std::string directory_;
  std::string state_;
  Vendor vendor_;
  std::optional<ElanMock> mock_;
};

}  // namespace backplane_mock
