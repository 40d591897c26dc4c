import PostgreSQL

/// Whether the roles that are to see some clinics only are kept to them by what they may do.
struct ViewerCheck: DatabaseCheck {
  let group = "rights.clinics"
  let needsSchema = true

  /// A role that is restricted to clinics.
  struct Viewer: Sendable, Equatable {
    let role: String
    let isThere: Bool
    /// The role that has the number which is kept for this one; nil when there is none but itself.
    let other: String?
    /// Its roles beside those that know clinics.
    let roles: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let viewers = try await database.rows("viewers").map { row in
      Viewer(
        role: try row.string(0), isThere: try row.bool(1), other: try row.stringIfPresent(2),
        roles: try row.array(3, of: String.self))
    }
    return viewers.compactMap(Self.judge)
  }

  static func judge(_ viewer: Viewer) -> Finding? {
    let check = "rights.clinics"
    if let other = viewer.other {
      guard viewer.isThere else {
        return .warning(
          check,
          "role \(viewer.role) is restricted to clinics, and there is no such role: \(other), which has its "
            + "number, is taken for it while nothing else says what that one sees",
          "If it was renamed: analysisctl clinics grant \(other) with the same clinics, then analysisctl clinics grant "
            + "\(viewer.role) --all.")
      }
      return .warning(
        check,
        "role \(viewer.role) is restricted to clinics under a number that is \(other)'s, as after a dump was restored",
        "Run analysisctl migrate, which takes the numbers that roles have here.")
    }
    guard viewer.isThere else {
      return .warning(
        check, "role \(viewer.role) is restricted to clinics, and there is no such role",
        "If it was dropped for good: analysisctl clinics grant \(viewer.role) --all.")
    }
    guard !viewer.roles.isEmpty else { return nil }
    return .warning(
      check,
      "role \(viewer.role) is restricted to clinics, and as \(viewer.roles.joined(separator: " and ")) it meets "
        + "the jobs of all",
      "Let it be reporter or clinician only, and give the others to another login.")
  }
}
