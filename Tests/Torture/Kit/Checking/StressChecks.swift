import PostgreSQL

/// Judges how functions refuse calls that are drawn by lot.
struct StressChecks {
  /// What was seen.
  struct Facts: Sendable, Equatable {
    /// How many calls each login made.
    var calls: [String: Int] = [:]
    /// How many of them were answered; the others were refused, cut off or rolled back.
    var answered = 0
    var functions: Set<String> = []
    /// What must not happen, in words, with a call by which it came.
    var faults: [String: String] = [:]
  }

  /// How a call was refused.
  struct Refusal: Sendable, Equatable {
    var state: String?
    var message = ""
    /// The lines of functions in which it happened, the innermost first.
    var context: String?
    var detail: String?
    var hasTimedOut = false
    /// Whether an argument was nothing that anybody means.
    var isOdd = false
  }

  let facts: Facts
  /// The logins of the sessions that there were.
  let logins: [String]

  func findings() -> [Finding] {
    [
      Finding(
        "I16 calls", "whoever calls a function how, it answers, or refuses in its own words",
        broken: facts.faults.sorted { $0.key < $1.key }.map { "\($0.key), by \($0.value)" }
          + logins.filter { facts.calls[$0] == nil }.map { "\($0) has called nothing" })
    ]
  }

  /// What is wrong with a refusal; nil when nothing is.
  ///
  /// - Parameter isAlone: Whether a server's process is a session of the stress in the only call of its transaction.
  static func fault(of refusal: Refusal, isAlone: (Int32) -> Bool) -> String? {
    if refusal.hasTimedOut { return "no answer within \(Int(Stress.bound / .seconds(1))) s" }
    guard let state = refusal.state else { return nil }
    let fault = "\(state) \(refusal.message)"
    // Whoever makes several calls in a transaction may meet another who makes them in another order.
    if state == "40P01" {
      let processes = (refusal.detail ?? "").matches(of: /rocess ([0-9]+)/).compactMap { Int32($0.output.1) }
      return !processes.isEmpty && processes.allSatisfy(isAlone) ? fault : nil
    }
    // The server's own trouble is nobody's words.
    if state.hasPrefix("XX") { return fault }
    if refusal.context?.split(separator: "\n").first?.hasSuffix("at RAISE") ?? false { return nil }
    // An argument that nobody means the server may refuse: out of range (22), against a rule (23), nobody's token (28).
    if refusal.isOdd, ["22", "23", "28"].contains(state.prefix(2)) { return nil }
    // Lost connections, too many of them, cut off by an administrator, a time limit or a lock, and two at once.
    let passing =
      ["08", "53", "57"].contains(state.prefix(2)) || ["40001", "55P03", "25P02", "25P03"].contains(state)
    return passing ? nil : fault
  }
}

extension StressChecks.Refusal {
  init(_ error: PostgreSQLError, isOdd: Bool) {
    self.init(
      state: error.sqlState, message: error.message, context: error.context, detail: error.detail,
      hasTimedOut: error.code == .deadlineExceeded, isOdd: isOdd)
  }
}
