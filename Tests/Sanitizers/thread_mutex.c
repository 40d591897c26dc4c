// What the thread sanitizer cannot see of Swift's `Mutex`.
//
// The fast path of `Mutex` is compiled into the program and is seen. A contended one is taken and given back by
// `_lockSlow`, `_tryLockSlow` and `_unlockSlow` in libswiftSynchronization, which is not instrumented, through a
// futex of the kernel: without the order that it makes, every value behind a contended mutex is reported as
// raced. These stand in front of the library's functions, call them, and tell the sanitizer of that order, under
// the address of the mutex, which is also what the fast path's atomic operations name.
//
// Linked into the program with `-sanitize=thread` only; see scripts/test.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT bool try_lock_slow(SELF void *handle) __asm__(TRY_LOCK);
SWIFT void unlock_slow(SELF void *handle) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, SELF void *handle) {
  SWIFT void (*original)(uint32_t, SELF void *) = dlsym(RTLD_NEXT, LOCK);
  original(thread, handle);
  __tsan_acquire(handle);
}

SWIFT bool try_lock_slow(SELF void *handle) {
  SWIFT bool (*original)(SELF void *) = dlsym(RTLD_NEXT, TRY_LOCK);
  bool taken = original(handle);
  if (taken) __tsan_acquire(handle);
  return taken;
}

SWIFT void unlock_slow(SELF void *handle) {
  SWIFT void (*original)(SELF void *) = dlsym(RTLD_NEXT, UNLOCK);
  __tsan_release(handle);
  original(handle);
}
