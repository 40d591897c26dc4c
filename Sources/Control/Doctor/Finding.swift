/// What a check saw, and what to do about it.
struct Finding: Sendable, Equatable {
  /// How bad it is.
  enum State: String, Sendable, CaseIterable {
    /// As it should be.
    case ok
    /// It works, and may not for long or not as well as it could.
    case warning
    /// Something does not work, or will lose or delay jobs.
    case wrong
    /// It could not be looked at; `seen` says why.
    case skipped
  }

  /// What was checked: the group, a dot and the name, for instance `vacuum.dead_rows`.
  let check: String
  /// How bad it is.
  let state: State
  /// What was seen. Nothing of it is secret.
  let seen: String
  /// What to do about it; nil where there is nothing to do.
  let advice: String?

  static func ok(_ check: String, _ seen: String) -> Finding {
    Finding(check: check, state: .ok, seen: seen, advice: nil)
  }

  static func warning(_ check: String, _ seen: String, _ advice: String) -> Finding {
    Finding(check: check, state: .warning, seen: seen, advice: advice)
  }

  static func wrong(_ check: String, _ seen: String, _ advice: String) -> Finding {
    Finding(check: check, state: .wrong, seen: seen, advice: advice)
  }

  static func skipped(_ check: String, _ seen: String, _ advice: String? = nil) -> Finding {
    Finding(check: check, state: .skipped, seen: seen, advice: advice)
  }
}

/// What was found, in the order in which it was looked for.
struct DoctorReport: Sendable, Equatable {
  /// What each check saw.
  let findings: [Finding]
  /// Whether the database answered.
  let isDatabaseReached: Bool

  /// How many are in a state.
  func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }
}
