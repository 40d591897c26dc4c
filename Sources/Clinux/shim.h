// The parts of Linux that Swift's Glibc module leaves out. Header only; nothing is compiled.
#pragma once
#include <asm/socket.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

// The flags are enumerators or macros with casts there, which Swift imports awkwardly or not at all.
static const int linux_epoll_cloexec = EPOLL_CLOEXEC;
static const uint32_t linux_epoll_in = EPOLLIN;
static const uint32_t linux_epoll_out = EPOLLOUT;
static const uint32_t linux_epoll_err = EPOLLERR;
static const uint32_t linux_epoll_hup = EPOLLHUP;
static const uint32_t linux_epoll_rdhup = EPOLLRDHUP;
static const uint32_t linux_epoll_et = EPOLLET;
// The same bit in a poll, whose header names it for those who ask for all of GNU.
static const int16_t linux_poll_rdhup = EPOLLRDHUP;
static const int linux_eventfd_flags = EFD_NONBLOCK | EFD_CLOEXEC;

// mallopt's parameter names are macros over negative numbers.
static const int linux_malloc_trim_threshold = M_TRIM_THRESHOLD;
static const int linux_malloc_mmap_threshold = M_MMAP_THRESHOLD;

// prctl is variadic. The name is cut to 15 bytes by the kernel.
static inline void linux_set_thread_name(const char *_Nonnull name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

// Variadic as well. What is not dumpable is written to no core file and read by no process of the same user.
static inline void linux_forbid_dumps(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// The user who listens at the other end of a Unix socket; -1 where nobody does. The structure is GNU's, too; the
// header of the function belongs to Swift's Glibc module, which would lose parts of it to this one.
int getsockopt(int, int, int, void *_Nullable __restrict, uint32_t *_Nonnull __restrict);
static inline int64_t linux_peer_user(int socket) {
  struct { int32_t process; uint32_t user, group; } peer;
  uint32_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.user == UINT32_MAX) return -1;
  return peer.user;
}

// A GNU function, which the header declares only for those who ask for all of GNU.
void *_Nullable memmem(const void *_Nonnull, size_t, const void *_Nonnull, size_t);
static inline _Bool linux_contains(
    const void *_Nonnull text, size_t count, const void *_Nonnull piece, size_t length) {
  return memmem(text, count, piece, length) != 0;
}

// Another one: a file without a name, in memory.
int memfd_create(const char *_Nonnull, unsigned int);
static const unsigned int linux_memfd_cloexec = MFD_CLOEXEC;

// And one more: what the program that is started inherits ends with the number before this one.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *_Nonnull, int);
static inline int linux_spawn_closing_from(posix_spawn_file_actions_t *_Nonnull actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

// ioctl is variadic, and its header is Glibc's like that of sockets. Whether the attribute of `chattr +a` is set.
int ioctl(int, unsigned long, ...);
static inline _Bool linux_is_append_only(int descriptor) {
  int flags = 0;
  return ioctl(descriptor, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_APPEND_FL);
}
