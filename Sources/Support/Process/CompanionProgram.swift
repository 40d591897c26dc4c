internal import Clinux
import Glibc

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
  ///
  /// - Parameter further: Arguments after those that it always has.
  public func start(
    input: Int32, output: Int32, adding further: [String] = []
  ) throws(Unstarted) -> Int32 {
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
    let words = ([path] + arguments + further).map { strdup($0) }
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
