import PostgreSQL

/// Whether the schema belongs to the role that is made for it, which can do nothing else.
struct OwnershipCheck: DatabaseCheck {
  let group = "rights.owner"
  let needsSchema = true

  /// Who owns what.
  struct Facts: Sendable, Equatable {
    /// The role that is to own the schema.
    let owner: String
    /// The roles of the installation that the server does not have.
    let absent: [String]
    /// Those of them that may log in, or are superusers.
    let tooStrong: [String]
    /// What belongs to others, with the owner.
    let others: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("ownership").single()
    return [
      Self.judge(
        Facts(
          owner: try row.string(0), absent: try row.array(1, of: String.self),
          tooStrong: try row.array(2, of: String.self), others: try row.array(3, of: String.self)))
    ]
  }

  static func judge(_ facts: Facts) -> Finding {
    let check = "rights.owner"
    if !facts.absent.isEmpty {
      return .wrong(
        check, "the server has no role \(facts.absent.joined(separator: ", "))",
        "As an administrator: " + facts.absent.map { "CREATE ROLE \($0) NOLOGIN;" }.joined(separator: " ")
          + " Then run analysisctl migrate.")
    }
    if !facts.tooStrong.isEmpty {
      return .wrong(
        check, "\(facts.tooStrong.joined(separator: ", ")) may log in or is a superuser, and is a group only",
        facts.tooStrong.map { "ALTER ROLE \($0) NOLOGIN NOSUPERUSER;" }.joined(separator: " "))
    }
    if !facts.others.isEmpty {
      return .warning(
        check,
        "\(facts.owner) does not own \(SchemaChecks.list(facts.others)): functions run with their owner's rights",
        "Run analysisctl migrate as a superuser, or as a member of \(facts.owner) that owns them.")
    }
    return .ok(check, "everything belongs to \(facts.owner), which cannot log in")
  }
}
