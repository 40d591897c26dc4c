import Support

/// What the stand-in says about one picture.
struct AnsweredAnalysis: Sendable {
  let kind: AnalysisKind
  let conditions: [AnsweredCondition]
  /// `conditions` as a JSON array.
  let conditionsJSON: [UInt8]

  /// - Parameter advises: whether a condition has a recommendation beside its treatment.
  init(kind: AnalysisKind, conditions: [AnsweredCondition], advises: Bool) {
    self.kind = kind
    self.conditions = conditions
    var writer = JSONWriter()
    writer.array(conditions) { $0.condition($1, advises: advises) }
    conditionsJSON = writer.bytes
  }
}

extension AnalysisKind {
  /// The type that a picture does not show.
  var other: AnalysisKind { self == .throat ? .ear : .throat }
}

/// One condition of an answer, ready to be written.
struct AnsweredCondition: Sendable, Equatable {
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

// The hot answers are written by hand, because an encoder costs more than the rest of the request.
extension JSONWriter {
  /// One condition; `confidence` stands in for its own when given, `sparse` leaves out what may be missing, and
  /// `advises` says whether there is a recommendation beside the treatment.
  mutating func condition(
    _ condition: AnsweredCondition, confidence: String? = nil, sparse: Bool = false, advises: Bool = false
  ) {
    let template = condition.template
    raw("{\"id\":")
    string(template.id)
    raw(",\"name\":")
    string(template.name)
    raw(",\"confidence\":")
    raw(confidence ?? condition.confidence)
    raw(",\"description\":")
    string("\(ConditionCatalogue.notice) \(template.detail)")
    if !sparse {
      raw(",\"isPotentiallySerious\":")
      boolean(template.serious)
      raw(",\"symptoms\":")
      array(template.symptoms) { $0.string($1) }
      raw(",\"recommendConsultation\":")
      boolean(template.consult)
      raw(",\"treatmentInfo\":")
      string(template.treatment)
      if advises {
        raw(",\"recommendationText\":")
        string(template.consult ? "Have it looked at." : "No action needed.")
      }
    }
    raw("}")
  }
}
