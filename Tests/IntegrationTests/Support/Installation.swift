import Administration
import AnalysisCore
import EventLoop
import Foundation
import Images
import JobQueue
import PostgreSQL
import TestSupport
import Testing

/// A migrated database of the test's own, with what the tests need to look into it.
struct Installation: Sendable {
  let database: TestDatabase
  let loop: EventLoop
  let pool: ConnectionPool

  static let migrated = DatabaseTemplate("migrated") { conninfo in
    let loop = try EventLoop()
    let pool = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    _ = try await Migrator(pool).migrate()
    await pool.close()
    loop.shutdown()
  }

  static func with<R>(_ body: (Installation) async throws -> R) async throws -> R {
    try await withTestDatabase(migrated) { try await open($0, body) }
  }

  /// Looks into a database that is there.
  static func open<R>(
    _ database: TestDatabase, reconnect: ReconnectPolicy = .failAtOnce,
    _ body: (Installation) async throws -> R
  ) async throws -> R {
    let loop = try EventLoop()
    let pool = ConnectionPool(database.configuration, on: loop, size: 8, reconnect: reconnect)
    let result: Result<R, any Error>
    do {
      result = .success(try await body(Installation(database: database, loop: loop, pool: pool)))
    } catch {
      result = .failure(error)
    }
    await pool.close()
    loop.shutdown()
    return try result.get()
  }

  var environment: [String: String] { ["ANALYSIS_DATABASE": database.conninfo] }

  func number(_ sql: String) async throws -> Int {
    try await pool.query(sql).single().int(0)
  }

  func text(_ sql: String) async throws -> String {
    try await pool.query(sql).single().string(0)
  }

  func addUser(_ user: String, plan: String = "premium", zone: String = "UTC") async throws {
    _ = try await UserDirectory(pool).add(NewUser(reference: user, plan: plan, zone: zone))
  }

  /// Submits the same picture many times.
  func submit(
    _ count: Int, user: String, kind: AnalysisKind = .throat, priority: Priority = .normal,
    maxAttempts: Int = 10, image: CleanImage
  ) async throws -> [JobID] {
    let submitter = Submitter(pool, limits: SubmitLimits(maxAttempts: maxAttempts))
    let first = Submission(
      user: user, kind: kind, priority: priority,
      image: .bytes(image.bytes, sha256: image.sha256, width: image.width, height: image.height))
    let others = Submission(
      user: user, kind: kind, priority: priority, image: .known(sha256: image.sha256))
    // The picture comes first: what names a stored one is judged before any of its own call is stored.
    var outcomes = try await submitter.submit([first])
    if count > 1 { outcomes += try await submitter.submit(Array(repeating: others, count: count - 1)) }
    return outcomes.compactMap { if case .created(let id, _) = $0 { id } else { nil } }
  }

  /// What must hold at every moment when nothing runs.
  func expectInvariants(_ location: SourceLocation = #_sourceLocation) async throws {
    let differences = try await Reconciliation.run(pool, month: nil)
    #expect(differences.isEmpty, "\(differences)", sourceLocation: location)
    // It looks at every row, of which some tests have very many.
    let broken = try await pool.query(
      "SELECT format('%s: job %s, user %s: %s', rule, job_id, user_id, detail) FROM analysis.broken_invariants()",
      deadline: .seconds(300)
    ).map { try $0.string(0) }
    #expect(broken == [], sourceLocation: location)
    #expect(try await number("SELECT count(*)::int FROM analysis.lease") == 0, sourceLocation: location)
  }
}

/// A picture as a doctor's app would send it, drawn by the project's script.
func drawnPicture(_ name: String = "throat-01.jpg") async throws -> CleanImage {
  let file = try await drawnPictures.folder().appending(path: name)
  return try ImageCleaner().clean([UInt8](Data(contentsOf: file)))
}

/// The sample pictures, six good ones and the bad ones.
let drawnPictures = DrawnSamples(["--count", "6", "--seed", "3", "--bad"])
