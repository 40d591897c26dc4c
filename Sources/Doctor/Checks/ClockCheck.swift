import JobQueue

/// This machine's clock against the server's.
struct ClockCheck: DatabaseCheck {
  let group = "clock"

  /// The queue itself goes by the server's clock alone; logs, tokens and dates on requests do not.
  static let tolerance = 2.0
  /// The quickest of a few answers is the most exact.
  private static let questions = 3

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    var best: ClockComparison?
    for _ in 0..<Self.questions {
      let measured = try await ClockComparison.measured(on: database.pool, deadline: AskedDatabase.deadline)
      if best.map({ measured.uncertainty < $0.uncertainty }) ?? true { best = measured }
    }
    return best.map { [Self.judge($0, check: "clock.server", who: "this machine")] } ?? []
  }

  /// A finding of a clock that goes wrong for certain, whatever the question took.
  static func judge(_ clock: ClockComparison, check: String, who: String) -> Finding {
    guard abs(clock.ahead) - clock.uncertainty > tolerance else {
      return .ok(check, "\(who) keeps time with the database server (± \(rounded(clock.uncertainty)) s)")
    }
    let message = "\(who) is \(phrase(clock)) the database server"
    return .warning(
      check, message,
      "Let both keep time (chrony, systemd-timesyncd). Leases and months go by the server's clock alone; logs "
        + "and the ends of tokens do not.")
  }

  /// `3.2 s ahead of (± 0.001 s)`.
  static func phrase(_ clock: ClockComparison) -> String {
    let direction = clock.ahead < 0 ? "behind" : "ahead of"
    return "\(rounded(abs(clock.ahead))) s (± \(rounded(clock.uncertainty)) s) \(direction)"
  }

  private static func rounded(_ seconds: Double) -> String { "\((seconds * 1000).rounded(.up) / 1000)" }
}
