import Foundation
import StandIn
import TestSupport

/// The `model-endpoint` of a run, which is killed and started again on the same port and with the same log.
actor EndpointProcess {
  nonisolated let url: String
  nonisolated let credentials: String
  nonisolated let log: URL
  /// The service account's password, which no log may hold.
  nonisolated let password: String

  private let programs: ProgramRunner
  private let settings: RunSettings
  private let port: UInt16
  private let passwordFile: URL
  private var process: RunningProgram?
  private var starts: UInt64 = 0
  private let turns = Semaphore(1)

  /// The service account's address, which no log may hold.
  static let account = "worker@service.example"

  /// Makes the account's files; the endpoint is not started.
  init(_ settings: RunSettings, _ programs: ProgramRunner) throws {
    self.settings = settings
    self.programs = programs
    port = try FreePort.find()
    url = "http://127.0.0.1:\(port)"
    log = settings.folder.appending(path: "calls.jsonl")
    password = "correct-horse-\(UUID().uuidString)"
    passwordFile = settings.folder.appending(path: "endpoint.password")
    let file = settings.folder.appending(path: "endpoint.credentials")
    credentials = file.path
    try Self.write(password, to: passwordFile)
    try Self.write("email = \(Self.account)\npassword = \(password)\n", to: file)
  }

  /// Starts it with these faults, and waits until it listens.
  func start(_ faults: [FaultRule]) async throws {
    starts += 1
    var arguments = [
      "--port", "\(port)", "--log", log.path, "--seed", "\((settings.seed &+ starts) % 1_000_000)",
      "--no-decode",
      "--require-auth", "--account", "\(Self.account):\(passwordFile.path)", "--delay", "8ms",
      // Tokens run out in the midst of calls, for all at once.
      "--token-lifetime", "5s",
    ]
    for rule in faults {
      let last = rule.lastTry.map { "@\($0)" } ?? ""
      arguments += ["--fail", "\(rule.fault.rawValue)=\(rule.share)\(last)"]
    }
    let process = try programs.start("model-endpoint", arguments)
    self.process = process
    _ = try await process.firstLine()
  }

  /// Sends a signal.
  func signal(_ number: Int32) { process?.send(number) }

  /// Ends it by a signal, leaves it away for a time, and starts it with these faults.
  func restart(by number: Int32, away: Duration, _ faults: [FaultRule]) async throws {
    signal(number)
    _ = await process?.ended()
    try? await Task.sleep(for: away)
    try await start(faults)
  }

  /// Does something with it that nothing else is to interrupt.
  nonisolated func exclusively(_ body: () async throws -> Void) async rethrows {
    try await turns.take(body)
  }

  /// Ends it.
  func stop() async {
    signal(SIGCONT)
    signal(SIGTERM)
    _ = await process?.ended()
    process = nil
  }

  private static func write(_ text: String, to file: URL) throws {
    try Data(text.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }
}
