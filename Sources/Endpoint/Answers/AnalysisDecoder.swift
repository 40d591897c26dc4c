public import Support

/// Reads the answer to an analysis call, and accepts it whole or not at all.
///
/// Only what makes the diagnosis can be a fault: the answer's id and type, and each condition's id, name and confidence.
/// Every other field is nil where it is missing or odd: it can never cost a diagnosis.
public enum AnalysisDecoder {
  private static let greatestConditionCount = 100
  private static let greatestSymptomCount = 100

  /// Reads an answer of status 2xx.
  ///
  /// - Parameters:
  ///   - bytes: The body.
  ///   - kind: What was asked for; an answer of another type is refused.
  ///   - normalIDs: The conditions that mean "nothing found".
  /// - Throws: `DecodingFailure` for everything that is not a whole, valid analysis, a failure that the
  ///   answer itself reports among them.
  public static func decode(
    _ bytes: [UInt8], expecting kind: AnalysisKind, normalIDs: Set<String> = Condition.defaultNormalIDs
  ) throws(DecodingFailure) -> Analysis {
    let value: JSONPart
    do {
      value = try JSONReader.read(bytes)
    } catch {
      throw DecodingFailure(error)
    }
    guard ReportedFailure(answer: value) == nil else { throw DecodingFailure("", "reports a failure") }
    return try decode(value, expecting: kind, normalIDs: normalIDs)
  }

  static func decode(
    _ value: JSONPart, expecting kind: AnalysisKind, normalIDs: Set<String>
  ) throws(DecodingFailure) -> Analysis {
    let fields = try AnswerFields(value, path: "")
    let id = try fields.requiredIdentifier("id")
    let found = try self.kind(fields)
    guard found == kind else {
      throw DecodingFailure("type", "is \(found.rawValue), but the job's is \(kind.rawValue)")
    }
    let debug = fields.optional("debug_info")
    return Analysis(
      id: id, kind: kind, conditions: try conditions(fields, normalIDs),
      answeredAt: fields.time("timestamp", "created_at"), endpointUser: user(fields),
      model: debug?.text("data_source", limit: AnswerFields.shortLimit),
      processingMilliseconds: debug?["processing_time"]?.number.flatMap { $0 >= 0 ? $0 : nil })
  }

  /// The account that the endpoint names: by its id, or as the whole of its profile, of which only the id is
  /// kept.
  private static func user(_ fields: AnswerFields) -> String? {
    fields.optional("user")?.identifier("id") ?? fields.identifier("user") ?? fields.identifier("user_id")
  }

  /// The type that an object names.
  static func kind(_ fields: AnswerFields) throws(DecodingFailure) -> AnalysisKind {
    guard let value = fields["type"] else { throw fields.missing("type") }
    guard let text = value.text, let kind = AnalysisKind(rawValue: text) else {
      throw DecodingFailure(fields.path(of: "type"), "is not a type that is known")
    }
    return kind
  }

  /// The conditions of an object, in their order.
  static func conditions(
    _ fields: AnswerFields, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> [Condition] {
    let elements = try fields.requiredList("conditions", limit: greatestConditionCount)
    var conditions: [Condition] = []
    conditions.reserveCapacity(elements.count)
    let path = fields.path(of: "conditions")
    for (index, element) in elements.enumerated() {
      conditions.append(try condition(try AnswerFields(element, path: path, at: index), normalIDs))
    }
    return conditions
  }

  private static func condition(
    _ fields: AnswerFields, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> Condition {
    let id = try fields.requiredText("id")
    return Condition(
      id: id, name: try fields.requiredText("name"), confidence: try confidence(fields),
      explanation: fields.text("description"),
      symptoms: fields.texts("symptoms", limit: greatestSymptomCount),
      isPotentiallySerious: fields.bool("isPotentiallySerious"),
      recommendsConsultation: fields.bool("recommendConsultation"),
      treatment: fields.text("treatmentInfo"), recommendation: fields.text("recommendationText"),
      isNormal: normalIDs.contains(id))
  }

  private static func confidence(_ fields: AnswerFields) throws(DecodingFailure) -> Confidence {
    guard let value = fields["confidence"] else { throw fields.missing("confidence") }
    guard let number = value.number, let confidence = Confidence(number) else {
      throw DecodingFailure(fields.path(of: "confidence"), "is not a number from 0 to 1")
    }
    return confidence
  }
}
