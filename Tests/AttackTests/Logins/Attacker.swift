import Testing

/// Who attacks by SQL: a login of the installation's own with one role, or one that has none.
enum Attacker: String, CaseIterable, Sendable {
  /// Another login of the same server, which may connect to the database.
  case stranger
  case submitter, worker, reporter, clinician, reviewer, `operator`, administrator, auditor, privacy,
    retention, gateway
  /// These see the clinic `north` alone.
  case northernReporter, northernClinician, northernReviewer, northernOperator, northernPrivacy,
    northernAdministrator

  /// The name of its role after the prefix; nil where it has none.
  var role: String? {
    switch self {
    case .stranger: nil
    case .northernReporter: "reporter"
    case .northernClinician: "clinician"
    case .northernReviewer: "reviewer"
    case .northernOperator: "operator"
    case .northernPrivacy: "privacy"
    case .northernAdministrator: "administrator"
    default: rawValue
    }
  }

  /// Whether it is restricted to one of the clinics.
  var isRestricted: Bool { rawValue.hasPrefix("northern") }

  /// One for each role, and one without any.
  static let unrestricted = allCases.filter { !$0.isRestricted }
}

/// One thing that a login tries by SQL.
struct SQLAttack: Sendable, CustomTestStringConvertible {
  /// What has to come of it.
  enum Outcome: Sendable {
    /// The server refuses it with this SQLSTATE.
    case refused(String)
    /// No row, or one of NULL or false alone.
    case nothing
    /// It may be answered, with nothing that is another's.
    case tellsNothing
    /// It answers just this, as the server writes it.
    case answers(String)
  }

  let by: Attacker
  /// What is tried, in words.
  let tries: String
  /// The statement. Names in braces stand for what the attacked database has: see ``AttackedDatabase/known``.
  let sql: String
  let outcome: Outcome

  init(_ by: Attacker, _ tries: String, _ sql: String, _ outcome: Outcome) {
    self.by = by
    self.tries = tries
    self.sql = sql
    self.outcome = outcome
  }

  var testDescription: String { "\(by.rawValue): \(tries)" }

  /// What of the schema it names: functions, tables and views.
  var aims: Set<String> { Set(sql.matches(of: /analysis\.([a-z_]+)/).map { String($0.1) }) }

  /// All of them, by who tries them.
  static let all: [SQLAttack] =
    ofAnybody + ofSubmitters + ofWorkers + ofReporters + ofClinicians + ofOperators + ofAdministrators
    + ofReviewers + ofAuditors + ofPrivacy + ofRetention + ofGateways + ofTokensAndShares
}
