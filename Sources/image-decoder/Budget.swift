import Glibc
import Support

/// What decoding may cost.
struct Budget {
  /// Of each picture, in seconds of the processor: five times what the most costly one known takes.
  private var seconds = 20
  /// For all that is not there at the start, in bytes.
  private var memory = 1 << 30

  /// The limits that the arguments name; nil if they name anything else.
  init?(_ arguments: ArraySlice<String>) {
    var rest = arguments
    while let name = rest.popFirst() {
      guard let value = rest.popFirst().flatMap({ Int($0) }), (0...1_000_000).contains(value) else {
        return nil
      }
      switch name {
      case "--cpu-seconds": seconds = value
      case "--memory-megabytes": memory = value << 20
      default: return nil
      }
    }
  }

  /// Limits the memory for good, lets nothing more be opened or started, and has the system take this program before
  /// others where its memory is short.
  func begin() {
    ResourceLimit.setMemory(memory)
    for resource in [RLIMIT_NOFILE, __RLIMIT_NPROC] { ResourceLimit.set(resource, 0) }
  }

  /// Gives the next picture its time: the system counts all that the process has used.
  func beginPicture() {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
    // Rounded up, since the limit is in whole seconds.
    let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 2 + seconds
    limit.rlim_cur = min(rlim_t(seconds), limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
  }
}
