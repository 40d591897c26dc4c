extension PostgreSQLError {
  /// Whether there is no connection (any more).
  public var isConnectionLoss: Bool {
    code == .connectionFailed || code == .connectionLost
  }

  /// Whether the same call may succeed later without anybody changing anything: the connection went
  /// away, a deadline passed, or the server was short of something or resolved a conflict against us.
  public var isTransient: Bool {
    if code == .connectionFailed { return phase?.isTransient ?? true }
    if code == .connectionLost || code == .deadlineExceeded { return true }
    guard let sqlState else { return false }
    switch sqlState.prefix(2) {
    case "08", "40", "53", "58": return true
    default: return sqlState == "55P03" || sqlState.hasPrefix("57P") || sqlState == "57014"
    }
  }

  /// Whether the server takes no changes at present: a standby, or one that was made read-only.
  public var isReadOnlyServer: Bool { sqlState == "25006" }

  /// Whether the role lacks the right to it, or a function of the schema refuses the role.
  public var isPermissionDenied: Bool { sqlState == Self.permissionDenied }

  /// Whether the schema lacks what was asked for: itself, a table, a function or a column.
  public var isSchemaLacking: Bool {
    switch sqlState {
    case "3F000", "42P01", "42883", "42703": true
    default: false
    }
  }

  static let permissionDenied = "42501"

  /// Whether the server refused the data given: SQLSTATE class 22 (a value it cannot take) or 23 (a
  /// constraint).
  public var isDataError: Bool {
    guard let sqlState else { return false }
    return sqlState.hasPrefix("22") || sqlState.hasPrefix("23")
  }
}
