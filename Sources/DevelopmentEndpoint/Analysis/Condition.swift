/// One condition of an answer, ready to be written.
struct Condition: Sendable, Equatable {
  let template: ConditionTemplate
  /// In ten-thousandths, so that it is written the same everywhere.
  let tenThousandths: Int

  /// The confidence as it is written: `0.7812`.
  var confidence: String {
    if tenThousandths >= 10_000 { return "1" }
    let digits = String(tenThousandths)
    return "0." + String(repeating: "0", count: 4 - digits.count) + digits
  }
}

/// What is the same in every answer about a condition.
struct ConditionTemplate: Sendable, Equatable {
  let id: String
  let name: String
  let detail: String
  let symptoms: [String]
  let serious: Bool
  let consult: Bool
  let treatment: String
}
