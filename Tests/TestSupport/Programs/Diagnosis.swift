import Foundation

/// What `analysisctl doctor --json` printed.
public struct Diagnosis: Sendable, Decodable {
  /// One of its findings.
  public struct Finding: Sendable, Equatable, Decodable {
    /// What was checked.
    public let check: String
    /// `ok`, `warning`, `wrong` or `skipped`.
    public let state: String
    /// What was seen.
    public let seen: String
    /// What to do.
    public let advice: String?
  }

  /// Whether the database answered.
  public let databaseReached: Bool
  /// Everything that was found.
  public let findings: [Finding]

  private enum CodingKeys: String, CodingKey {
    case databaseReached = "database_reached"
    case findings
  }

  /// Reads the command's output.
  public init(_ output: String) throws {
    self = try JSONDecoder().decode(Diagnosis.self, from: Data(output.utf8))
  }

  /// The findings of a check.
  public func of(_ check: String) -> [Finding] { findings.filter { $0.check == check } }

  /// The state of a check; nil unless it has one finding exactly.
  public func state(_ check: String) -> String? {
    let found = of(check)
    return found.count == 1 ? found[0].state : nil
  }
}
