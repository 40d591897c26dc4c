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

  /// An owner with its parts.
  init(user: String, host: String) {
    self.user = user
    self.host = host
  }

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

/// A program that is installed beside this one, which starts it: what happens in it happens to nothing that is in this
/// one's memory.
public struct CompanionProgram: Sendable {
  /// Where it is.
  public let path: String
  private let arguments: [String]

  /// The one of a name in the folder of the running program.
  public init(_ name: String, _ arguments: [String] = []) {
    self.init(path: Self.ownFolder() + name, arguments)
  }

  /// One that is elsewhere.
  public init(path: String, _ arguments: [String] = []) {
    self.path = path
    self.arguments = arguments
  }

  /// Why it cannot be started.
  public struct Unstarted: Error, Sendable {
    /// What the system says.
    public let reason: String
    /// Whether the right program is not there, or may not be run.
    public let isInstallation: Bool
  }

  /// How it ended.
  public enum Ending: Sendable, Equatable {
    /// By itself, with an exit code.
    case code(Int32)
    case signal(Int32)
    case unknown
  }

  /// Starts it with an empty environment, an open file or socket each as its input and output, and nothing else of this
  /// program. Answers its number.
  public func start(input: Int32, output: Int32) throws(Unstarted) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    // What a program says when it crashes may hold bytes of what it was given.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    linux_spawn_closing_from(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    // Ctrl-C and the service manager's stop reach this program and the others alike. The work that these have is for
    // this program to finish: what it needs no more it ends itself.
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let words = ([path] + arguments).map { strdup($0) }
    defer { for word in words { free(word) } }
    var id = pid_t()
    let code = posix_spawn(&id, path, &actions, &attributes, words + [nil], [nil])
    guard code == 0 else {
      throw Unstarted(
        reason: String(cString: strerror(code)),
        isInstallation: [ENOENT, ENOTDIR, EACCES, ENOEXEC].contains(code))
    }
    return id
  }

  /// Waits for the end of the one with a number. It blocks.
  public static func awaitEnd(of id: Int32) -> Ending {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 { if errno != EINTR { return .unknown } }
    return status & 0x7F == 0 ? .code(status >> 8) : .signal(status & 0x7F)
  }

  private static func ownFolder() -> String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = path.withUnsafeMutableBufferPointer { path in
      path.baseAddress.map { readlink("/proc/self/exe", $0, path.count) } ?? 0
    }
    let program = path.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
    // Never the folder in which the command is run, where others may put a program of that name.
    guard let slash = program.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
    return String(decoding: program[...slash], as: UTF8.self)
  }
}
