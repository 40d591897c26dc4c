import Foundation
import Glibc

/// PostgreSQL's own programs, run as a user that the server accepts.
struct ServerPrograms: Sendable {
  /// Where `initdb` and `postgres` are.
  let folder: String
  /// Who runs them, with the group; nil when that is whoever runs this process.
  let user: (name: String, id: uid_t, group: gid_t)?

  init() throws {
    folder = try Self.find()
    user = try Self.ordinaryUser()
  }

  /// Runs one of them to its end and gives what it wrote.
  ///
  /// - Throws: `TestSupportError` when it ends with anything but 0, with the last of what it said.
  @discardableResult
  func run(_ program: String, _ arguments: [String]) async throws -> String {
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PG") }
    // A server that was unpacked somewhere has its libraries beside it; the modules that it loads would find another
    // version's libpq in the system.
    let libraries = URL(fileURLWithPath: folder).deletingLastPathComponent().appending(path: "lib").path
    if access("\(libraries)/libpq.so.5", R_OK) == 0 { environment["LD_LIBRARY_PATH"] = libraries }
    let words = asUser + ["\(folder)/\(program)"] + arguments
    let ended = try await RunningProgram(
      "/bin/bash", ["-c", Supervisor.closing + "exec \"$@\"", "run"] + words,
      environment: environment.merging(["LC_ALL": "C"]) { $1 }, directory: URL(fileURLWithPath: "/")
    ).ended()
    let output = String(decoding: ended.output, as: UTF8.self)
    guard ended.status == 0, !ended.wasKilled else {
      throw TestSupportError("\(program) failed: \((output + ended.errors).suffix(1000))")
    }
    return output
  }

  /// Gives a folder of ours to the server's user.
  func own(_ path: String) throws {
    guard let user else { return }
    guard chown(path, user.id, user.group) == 0 else {
      throw TestSupportError("\(path) cannot be given to \(user.name): errno \(errno)")
    }
  }

  /// The words that go before a program to run it as that user.
  var asUser: [String] {
    guard let user else { return [] }
    if let setpriv = HelperProgram.find("/usr/bin/setpriv", "/bin/setpriv") {
      return [setpriv, "--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups", "--"]
    }
    return ["/sbin/runuser", "-u", user.name, "--"]
  }

  /// A program beside the server's, for instance one of its client programs; nil where that server came without it.
  static func path(of program: String) -> String? {
    guard let folder = try? find() else { return nil }
    return HelperProgram.find("\(folder)/\(program)")
  }

  /// The server refuses to run as root.
  private static func ordinaryUser() throws -> (name: String, id: uid_t, group: gid_t)? {
    guard geteuid() == 0 else { return nil }
    for name in ["postgres", "nobody"] {
      if let entry = getpwnam(name) { return (name, entry.pointee.pw_uid, entry.pointee.pw_gid) }
    }
    throw TestSupportError("There is no user postgres and no user nobody to run PostgreSQL as")
  }

  /// What `ANALYSIS_POSTGRES` names, or the newest that is installed. Debian keeps the programs out of PATH.
  private static func find() throws -> String {
    let isComplete = { (folder: String) in
      ["initdb", "pg_ctl", "postgres"].allSatisfy { access("\(folder)/\($0)", X_OK) == 0 }
    }
    if let given = getenv("ANALYSIS_POSTGRES").map({ URL(fileURLWithPath: String(cString: $0)).path }) {
      guard let folder = [given, "\(given)/bin"].first(where: isComplete) else {
        throw TestSupportError(
          "ANALYSIS_POSTGRES: initdb, pg_ctl and postgres are not in \(given), nor in its folder bin")
      }
      return folder
    }
    var folders: [String] = []
    var found = glob_t()
    defer { globfree(&found) }
    if glob("/usr/lib/postgresql/*/bin", 0, nil, &found) == 0 {
      for index in 0..<Int(found.gl_pathc) {
        if let path = found.gl_pathv[index] { folders.append(String(cString: path)) }
      }
    }
    // The newest first, by number: 15 before 9.6.
    folders.sort { version($0) > version($1) }
    if let path = getenv("PATH") { folders += String(cString: path).split(separator: ":").map(String.init) }
    guard let folder = folders.first(where: isComplete) else {
      throw TestSupportError("initdb was not found; install postgresql, or set ANALYSIS_POSTGRES")
    }
    return folder
  }

  private static func version(_ folder: String) -> Double {
    folder.split(separator: "/").compactMap { Double($0) }.first ?? 0
  }
}
