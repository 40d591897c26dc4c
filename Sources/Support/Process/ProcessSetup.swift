internal import Clinux
public import Glibc

/// Whether a crash may write this process's memory to a file or a log.
public enum CoreDumps {
  /// Forbids it: the memory holds tokens, keys and images. Both ways of a core dump are closed, since one that is piped
  /// to a program heeds no limit; a debugger of the same user is kept out with it. The Swift runtime's own handlers,
  /// which would write the values of variables and registers to standard error where `SWIFT_BACKTRACE` asks for it, are
  /// taken away: it installs them before this can run, when nothing secret is in memory yet.
  public static func forbid() {
    for crash in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] { signal(crash, SIG_DFL) }
    linux_forbid_dumps()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  }
}

/// A file in which TLS libraries write down the keys of each connection, for whoever recorded it.
public enum KeyLog {
  /// Forbids it. libcurl asks for the variable when it is first used, so call it before the first thread is started.
  public static func forbid() {
    unsetenv("SSLKEYLOGFILE")
  }
}

/// How many files and sockets this process may have open.
public enum DescriptorLimit {
  /// Raises the limit to the most the system allows this process; leaves it if that fails.
  ///
  /// - Returns: The limit that holds then.
  @discardableResult
  public static func raise() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return Int(FD_SETSIZE) }
    // A call that changes nothing is left out: where a sandbox forbids it, it would end the process.
    if limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = limit.rlim_max
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}

/// Limits that a program sets itself and cannot raise again.
public enum ResourceLimit {
  /// Limits a resource.
  public static func set(_ resource: __rlimit_resource, _ value: Int) {
    let resource = __rlimit_resource_t(resource.rawValue)
    var limit = rlimit()
    getrlimit(resource, &limit)
    let value = min(rlim_t(value), limit.rlim_max)
    limit = rlimit(rlim_cur: value, rlim_max: value)
    setrlimit(resource, &limit)
  }

  /// Limits the memory for all that is not there yet, in bytes, and has the system take this program before others
  /// where its memory is short.
  public static func setMemory(_ bytes: Int) {
    // More than is mapped now, so that it does not matter how much of that are libraries.
    let mapped = (try? FileContent.read("/proc/self/statm", limit: 1_000)) ?? []
    let pages = Int(String(decoding: mapped.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)) ?? 0
    let score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
    _ = write(score, "1000", 4)
    close(score)
    set(RLIMIT_AS, pages * sysconf(Int32(_SC_PAGESIZE)) + bytes)
  }
}

/// Settings of the C library's allocator.
public enum MemoryTuning {
  private static let mmapThreshold: Int32 = 256 << 20

  /// Keeps freed memory up to a number of bytes, and takes blocks up to 256 MB from it. By default each large
  /// result of the database is mapped, faulted in page by page and given back: reading many images of 120 KB was
  /// measured 2.3 times faster with these. Call it before the first thread is started.
  /// False where the C library refuses.
  @discardableResult
  public static func raiseMallocThresholds(keeping trimThreshold: Int32 = 512 << 20) -> Bool {
    mallopt(linux_malloc_trim_threshold, trimThreshold) == 1
      && mallopt(linux_malloc_mmap_threshold, mmapThreshold) == 1
  }
}

/// Standard input, output and error.
public enum StandardDescriptors {
  /// Opens those that the caller of this program has closed. Else the first sockets would get their numbers,
  /// and a log line would go to the database.
  ///
  /// Each is opened the wrong way round, so that reading or writing fails as it did before. Call it before
  /// anything is opened.
  public static func open() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number, which is the missing one.
      _ = Glibc.open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}

/// Under whose account this process runs, and on which machine.
public struct ProcessOwner: Sendable, Equatable {
  /// The name of the effective user; `uid 1000` where the system has none for it.
  public let user: String
  /// The machine's name.
  public let host: String

  /// This process's own.
  public static func current() -> ProcessOwner {
    ProcessOwner(user: userName(geteuid()), host: hostName())
  }

  /// The number of a user of the system, given by name or as a number; nil where there is none of that name.
  public static func number(ofUser name: String) -> UInt32? {
    if let number = UInt32(name) { return number }
    var record = passwd()
    var buffer = [CChar](repeating: 0, count: 16_384)
    var found: UnsafeMutablePointer<passwd>?
    guard getpwnam_r(name, &record, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return record.pw_uid
  }

  private static func userName(_ id: uid_t) -> String {
    var record = passwd()
    var buffer = [CChar](repeating: 0, count: 16_384)
    var found: UnsafeMutablePointer<passwd>?
    guard getpwuid_r(id, &record, &buffer, buffer.count, &found) == 0, found != nil, let name = record.pw_name
    else { return "uid \(id)" }
    return String(cString: name)
  }

  private static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
