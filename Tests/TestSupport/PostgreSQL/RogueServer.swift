import Glibc

/// Another login's program that listens in the database server's place and writes down every password that it is given.
public final class RogueServer: Sendable {
  /// Whether there is Python to run it.
  public static let isAvailable = HelperProgram.find("/usr/bin/python3") != nil
  /// Whether it can be run as another user.
  public static let isAvailableAsAnother =
    isAvailable && geteuid() == 0 && HelperProgram.find("/usr/bin/setpriv") != nil

  /// What it asks its client for.
  public enum Method: String, CaseIterable, Sendable {
    case cleartext, md5, scram, none
  }

  private let folder: TemporaryFolder
  private let server: HelperServer
  private let isSocket: Bool

  /// On a port of the loopback.
  public init(asking method: Method) async throws {
    folder = try TemporaryFolder()
    isSocket = false
    server = try await HelperServer(
      "/usr/bin/python3", [Self.script, folder.path("heard"), method.rawValue])
  }

  /// On a socket in a folder where all may write, run by the user nobody.
  public init(asNobodyAsking method: Method) async throws {
    folder = try TemporaryFolder()
    isSocket = true
    guard chmod(folder.path, 0o1777) == 0 else { throw ServerFailure("chmod: \(errno)") }
    server = try await HelperServer(
      "/usr/bin/setpriv",
      ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--", "/usr/bin/python3"]
        + [Self.script, folder.path("heard"), method.rawValue, folder.path])
  }

  private static var script: String { packagePath("scripts/lib/peers/rogue-postgresql.py") }

  /// How a client comes to it.
  public var conninfo: String {
    "host=\(isSocket ? folder.path : "127.0.0.1") port=\(server.port) user=worker dbname=analysis"
  }

  /// What it was given: the passwords, or what stands for them, and whether statements came.
  public var heard: String { (try? folder.text("heard")) ?? "" }
}
