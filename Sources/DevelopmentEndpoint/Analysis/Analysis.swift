import Formatting

/// What the stand-in says about one picture.
struct Analysis: Sendable {
  let kind: AnalysisKind
  let conditions: [Condition]
  /// `conditions` as a JSON array.
  let conditionsJSON: [UInt8]

  /// - Parameter advises: whether a condition has a recommendation beside its treatment.
  init(kind: AnalysisKind, conditions: [Condition], advises: Bool) {
    self.kind = kind
    self.conditions = conditions
    var writer = JSONWriter()
    writer.array(conditions) { $0.condition($1, advises: advises) }
    conditionsJSON = writer.bytes
  }
}
