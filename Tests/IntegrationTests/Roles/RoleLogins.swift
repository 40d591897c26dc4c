import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// A login for each role, and the programs run as them.
struct RoleLogins: Sendable {
  /// Who runs a program.
  enum Who: String, CaseIterable {
    /// Looks after users, plans and clinics.
    case office
    case backend
    case worker
    case accounts
    case auditor
    /// Pauses, retries and cancels.
    case operations
    /// May read whose picture showed what.
    case clinician
    /// May also see the pictures of what they may review.
    case reviewer
    /// Answers persons who ask for their data, or to be forgotten.
    case privacy
    /// Removes what is past its time.
    case keeper
    /// Acts for the users whose tokens it is given.
    case gateway
    /// Owns the schema by membership.
    case administrator

    /// The role of the schema that it has.
    var role: String {
      switch self {
      case .office: "analysis_administrator"
      case .backend: "analysis_submitter"
      case .worker: "analysis_worker"
      case .accounts: "analysis_reporter"
      case .auditor: "analysis_auditor"
      case .operations: "analysis_operator"
      case .clinician: "analysis_clinician"
      case .reviewer: "analysis_reviewer"
      case .privacy: "analysis_privacy"
      case .keeper: "analysis_retention"
      case .gateway: "analysis_gateway"
      case .administrator: "analysis_owner"
      }
    }
  }

  let queue: QueueFixture
  let reach: @Sendable (_ role: String) -> String

  /// The roles' names in a database: roles belong to the whole server.
  static func names(in database: String) -> [String] { Who.allCases.map { "\(database)_\($0.rawValue)" } }

  /// Makes the roles for as long as the closure runs.
  static func with(
    _ queue: QueueFixture, reach: @escaping @Sendable (String) -> String,
    _ body: (RoleLogins) async throws -> Void
  ) async throws {
    try await RoleLogins(queue: queue, reach: reach).make(Who.allCases[...], body)
  }

  private func make(_ rest: ArraySlice<Who>, _ body: (RoleLogins) async throws -> Void) async throws {
    guard let who = rest.first else { return try await body(self) }
    try await withLoginRole(on: queue.pool, named: who.rawValue, in: [who.role]) { _ in
      try await make(rest.dropFirst(), body)
    }
  }

  func name(_ who: Who) -> String { "\(queue.database.name)_\(who.rawValue)" }

  private func environment(_ who: Who) -> [String: String] { ["ANALYSIS_DATABASE": reach(name(who))] }

  func run(_ who: Who, _ words: [String]) async throws -> Executable.Ended {
    try await Executable("analysisctl", words, environment: environment(who)).ended()
  }

  /// Runs a command that is to end with a code.
  func expect(
    _ who: Who, _ words: [String], code: Int32 = 0, _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let ended = try await run(who, words)
    #expect(ended.code == code, "\(who) \(words): \(ended.messages)", sourceLocation: location)
  }

  /// From the first user to the closed month and to the end of all that was kept, on encrypted images, each step by
  /// whose it is; and what is not somebody's is refused.
  func wholeJob() async throws {
    let folder = try TemporaryFolder()
    let keys = ["--key-file", folder.path("image.keys")]
    try await expect(.backend, ["keys", "new"] + keys)
    try await RunningEndpoint.with { endpoint in
      try await expect(.office, ["plans", "list"])
      try await expect(.office, ["users", "add", "clinic-1", "--plan", "premium", "--name", "N N"])
      try await expect(.office, ["users", "show", "clinic-1"])
      let pictures = try await drawnPictures.folder().path
      let submit = ["submit", "--user", "clinic-1", "--type", "throat", pictures] + keys
      for who in [Who.worker, .accounts, .auditor, .operations] { try await expect(who, submit, code: 77) }

      let worker = try Executable(
        "analysis-worker", ["--endpoint", endpoint.url, "--concurrency", "4"] + keys,
        environment: environment(.worker))
      let submitted = try await run(.backend, submit + ["--wait", "--json"])
      #expect(submitted.code == 4, "the bad files are refused by name: \(submitted.messages)")
      try await expect(.operations, ["pause", "--type", "ear", "--reason", "trial"])
      try await expect(.operations, ["resume", "--type", "ear"])
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0 && !ended.messages.contains("may not"), "\(ended.messages)")
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 6)
      // One that empties the queue asks what is left of it.
      let drain = try await Executable(
        "analysis-worker", ["--drain", "--endpoint", endpoint.url], environment: environment(.worker)
      ).ended()
      #expect(drain.code == 0, "\(drain.messages)")

      try await look()
      try await report()
      try await expectDenials()
    }
    try await endOfIt(folder, keys)
  }

  /// Another key, what the person gets, their erasure, and what the audit says of all that.
  private func endOfIt(_ folder: TemporaryFolder, _ keys: [String]) async throws {
    #expect(
      try await queue.number("SELECT count(*)::int FROM analysis.image WHERE encrypted_by IS NULL")
        == 0)
    try await expect(.backend, ["keys", "new"] + keys)
    for who in [Who.office, .keeper] { try await expect(who, ["keys", "rotate"] + keys, code: 77) }
    try await expect(.administrator, ["keys", "rotate"] + keys)

    let export = ["users", "export", "clinic-1", "--out", folder.path("export")] + keys
    try await expect(.office, export, code: 77)
    try await expect(.privacy, export)
    let person = try await queue.number("SELECT user_id::int FROM analysis.account")
    let erase = [
      "erase", "--user", "clinic-1", "--confirm", "clinic-1", "--receipt", folder.path("receipt.json"),
    ]
    for who in [Who.office, .operations, .backend] { try await expect(who, erase, code: 77) }
    try await expect(.privacy, erase)
    #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 0)
    try await expect(.keeper, ["purge", "--yes"], code: 5)

    try await expect(.auditor, ["audit", "verify"])
    let told = try await run(.auditor, ["audit", "list", "--user", "#\(person)", "--json"])
    for action in ["erase", "export", "read_image"] {
      #expect(told.output.contains("\"\(action)\""), "\(action): \(told.output) \(told.messages)")
    }
    try await expect(.auditor, ["reconcile"])
    try await queue.expectSound()
  }

  private func look() async throws {
    try await expect(.backend, ["jobs", "list", "--user", "clinic-1"], code: 77)
    try await expect(.operations, ["jobs", "list"])
    let job = try await queue.number(
      "SELECT job_id::int FROM analysis.result WHERE outcome = 1 LIMIT 1")
    let read = try await run(.clinician, ["jobs", "show", "\(job)", "--json"])
    #expect(read.code == 0 && read.output.contains("\"conditions\""), "\(read.messages)")
    try await expect(.clinician, ["reviews", "add", "\(job)", "--verdict", "agree", "--comment", "Clear."])
    let said = try await run(.clinician, ["reviews", "list", "--job", "\(job)"])
    #expect(said.code == 0 && said.output.contains("Clear."), "\(said.messages)")
    try await expect(.operations, ["reviews", "list"], code: 77)
    let shown = try await run(.operations, ["jobs", "show", "\(job)", "--json"])
    #expect(shown.code == 0 && shown.output.contains("\"result_hidden\":true"), "\(shown.messages)")
    try await expect(.operations, ["status"])
    try await expect(.auditor, ["status"])
    try await expect(.auditor, ["reconcile"])
    try await expect(.auditor, ["users", "list"])
    try await expect(.auditor, ["clinics"])
    for who in [Who.worker, .backend, .accounts, .auditor, .operations, .office] {
      let found = try Diagnosis(try await run(who, ["doctor", "--json"]).output)
      #expect(found.state("rights.role") == "ok", "\(who): \(found.findings)")
      #expect(
        found.of("rights.superuser").isEmpty && found.of("rights.roles").isEmpty, "\(who): \(found.findings)"
      )
    }
  }

  private func report() async throws {
    for kind in ["usage", "conditions", "summary", "agreement", "calibration"] {
      try await expect(.accounts, ["report", kind])
    }
    try await expect(.accounts, ["report", "analyses"], code: 77)
    let analyses = try await run(.clinician, ["report", "analyses", "--format", "csv"])
    #expect(analyses.code == 0 && analyses.output.contains("clinic-1"), "\(analyses.messages)")
    // A month is closed by who may, and read by others too.
    try await expect(.auditor, ["month", "close", "--due", "--yes"], code: 77)
    try await expect(.accounts, ["month", "close", "--due", "--yes"], code: 5)
    for who in [Who.accounts, .auditor] {
      try await expect(who, ["month"])
      try await expect(who, ["report", "usage", "--month", "2024-01"])
    }
  }

  private func expectDenials() async throws {
    try await expect(.worker, ["users", "show", "clinic-1"], code: 77)
    try await expect(.worker, ["jobs", "list"], code: 77)
    try await expect(.backend, ["pause"], code: 77)
    try await expect(.backend, ["users", "set-plan", "clinic-1", "free"], code: 77)
    try await expect(.accounts, ["users", "show", "clinic-1"], code: 77)
    try await expect(.auditor, ["jobs", "retry", "--state", "dead"], code: 77)
    try await expect(.office, ["report", "analyses"], code: 77)
    for who in Who.allCases where who != .administrator { try await expect(who, ["migrate"], code: 77) }
    try await expect(.administrator, ["migrate"])
    // The backend that submits them cannot read pictures back.
    let loop = queue.loop
    let backend = ConnectionPool(ConnectionConfiguration(reach(name(.backend))), on: loop, size: 1)
    let error = await #expect(throws: PostgreSQLError.self) {
      try await backend.query("SELECT bytes FROM analysis.image")
    }
    #expect(error?.sqlState == "42501")
    await backend.close()
  }
}
