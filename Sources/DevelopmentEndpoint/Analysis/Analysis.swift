import Formatting

/// What the stand-in says about one picture.
struct Analysis: Sendable {
  let kind: AnalysisKind
  let conditions: [Condition]
  /// `conditions` as a JSON array.
  let conditionsJSON: [UInt8]

  init(kind: AnalysisKind, conditions: [Condition]) {
    self.kind = kind
    self.conditions = conditions
    var writer = JSONWriter()
    writer.array(conditions) { $0.condition($1) }
    conditionsJSON = writer.bytes
  }
}
