import Formatting
import PostgreSQL

/// Whether what is recorded comes into the chain of the audit.
struct AuditCheck: DatabaseCheck {
  let group = "audit"
  let needsSchema = true

  /// A worker chains every second; where none runs, the next command does.
  private static let patience = 60.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("drafts").single()
    return [Self.judge(count: try row.int(0), age: try row.doubleIfPresent(1))]
  }

  static func judge(count: Int, age: Double?) -> Finding {
    guard let age, age > patience else { return .ok("audit.drafts", "what is recorded is chained") }
    return .wrong(
      "audit.drafts", "\(count) entries are not chained, the oldest for \(Moment.age(age))",
      "Run analysisctl audit verify, which chains them or says what is in the way.")
  }
}
