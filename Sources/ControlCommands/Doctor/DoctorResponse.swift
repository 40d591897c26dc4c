import CommandLineTool

/// What was found, in the order in which it was looked for.
struct DoctorResponse: Sendable, Equatable {
  let findings: [Finding]
  /// Whether the database answered.
  let isDatabaseReached: Bool

  /// How many are in a state.
  func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }

  /// 69 without the database, 1 when something is wrong; warnings are no failure.
  var exitCode: ExitCode {
    guard isDatabaseReached else { return .unreachable }
    return count(.wrong) > 0 ? .jobFailed : .done
  }
}
