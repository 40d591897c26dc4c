import Foundation
import TestSupport
import Testing

@Suite("Another login in the database server's place, by the real executables")
struct RogueServerTests {
  private static let password = "hunter2-4711"
  private static let programs = [
    ["analysisctl", "status", "--connect-timeout", "0s"],
    ["analysis-worker", "--drain", "--endpoint", "http://127.0.0.1:9"],
  ]

  /// The libpq that came with the server of the tests, where it is another than the system's.
  private static var ownLibpq: String? {
    guard let server = ServerCluster.program("postgres") else { return nil }
    let folder = URL(filePath: server).deletingLastPathComponent().deletingLastPathComponent().path + "/lib"
    return FileManager.default.fileExists(atPath: "\(folder)/libpq.so.5") ? folder : nil
  }

  /// Runs a program to which the password is known, and answers what it said.
  private func run(
    _ program: [String], _ rogue: RogueServer, _ further: [String] = [], libraries: String? = nil
  ) async throws -> Executable.Ended {
    let folder = try TemporaryFolder()
    let file = try folder.write("*:*:*:*:\(Self.password)\n", to: "pgpass")
    var environment = ["ANALYSIS_DATABASE": rogue.conninfo, "PGPASSFILE": file]
    environment["LD_LIBRARY_PATH"] = libraries
    let started = try Executable(program[0], Array(program.dropFirst()) + further, environment: environment)
    // A worker goes on trying, as long as somebody may mend it.
    try await eventually { started.hasEnded || started.messagesSoFar.contains("did not prove who it is") }
    started.send(SIGTERM)
    let ended = await started.ended()
    #expect(!(ended.output + ended.messages).contains("hunter2"))
    return ended
  }

  @Test(
    "on its port gets no password, and the message says what to do",
    .enabled(if: RogueServer.isAvailable), arguments: programs)
  func port(program: [String]) async throws {
    for method in [RogueServer.Method.cleartext, .md5, .none] {
      let rogue = try await RogueServer(asking: method)
      let ended = try await run(program, rogue)
      #expect(ended.messages.contains("did not prove who it is"), "\(ended.messages)")
      #expect(ended.messages.contains("--database-proof as-given"), "\(ended.messages)")
      #expect(rogue.heard.isEmpty, "\(rogue.heard)")
    }
  }

  @Test(
    "gets none from a libpq that can demand SCRAM by itself either",
    .enabled(if: RogueServer.isAvailable && ownLibpq != nil, "needs a server that came with its own libpq"),
    arguments: programs)
  func otherLibpq(program: [String]) async throws {
    let rogue = try await RogueServer(asking: .cleartext)
    let ended = try await run(program, rogue, libraries: Self.ownLibpq)
    #expect(ended.messages.contains("did not prove who it is"), "\(ended.messages)")
    #expect(rogue.heard.isEmpty, "\(rogue.heard)")
  }

  @Test(
    "on its socket gets nothing", .enabled(if: RogueServer.isAvailableAsAnother), arguments: programs)
  func socket(program: [String]) async throws {
    let rogue = try await RogueServer(asNobodyAsking: .cleartext)
    let ended = try await run(program, rogue)
    #expect(ended.messages.contains("not postgres, root or this login"), "\(ended.messages)")
    #expect(rogue.heard.isEmpty, "\(rogue.heard)")
  }

  @Test("gets the password where the option gives it away", .enabled(if: RogueServer.isAvailable))
  func asGiven() async throws {
    let rogue = try await RogueServer(asking: .cleartext)
    let folder = try TemporaryFolder()
    let file = try folder.write("*:*:*:*:\(Self.password)\n", to: "pgpass")
    _ = await
      (try Executable(
        "analysisctl", ["status", "--connect-timeout", "0s", "--database-proof", "as-given"],
        environment: ["ANALYSIS_DATABASE": rogue.conninfo, "PGPASSFILE": file])).ended()
    #expect(rogue.heard.contains(Self.password))
  }
}
