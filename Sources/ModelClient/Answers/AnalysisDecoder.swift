public import AnalysisCore
import Formatting

/// Reads the answer to an analysis call, and accepts it whole or not at all.
public enum AnalysisDecoder {
  private static let greatestConditionCount = 100
  private static let greatestSymptomCount = 100

  /// Reads an answer of status 2xx.
  ///
  /// - Parameters:
  ///   - bytes: The body.
  ///   - kind: What was asked for; an answer of another kind is refused.
  ///   - normalIDs: The conditions that mean "nothing found".
  /// - Throws: `DecodingFailure` for everything that is not a whole, valid analysis, a failure that the
  ///   answer itself reports among them.
  public static func decode(
    _ bytes: [UInt8], expecting kind: AnalysisKind, normalIDs: Set<String> = Condition.defaultNormalIDs
  ) throws(DecodingFailure) -> Analysis {
    let value: JSONValue
    do {
      value = try JSONReader.read(bytes)
    } catch {
      throw DecodingFailure(error)
    }
    guard ReportedFailure(answer: value) == nil else { throw DecodingFailure("", "reports a failure") }
    return try decode(value, expecting: kind, normalIDs: normalIDs)
  }

  static func decode(
    _ value: JSONValue, expecting kind: AnalysisKind, normalIDs: Set<String>
  ) throws(DecodingFailure) -> Analysis {
    let fields = try FieldReader(value, path: "")
    let id = try fields.requiredIdentifier("id")
    let found = try self.kind(fields)
    guard found == kind else {
      throw DecodingFailure("type", "is \(found.rawValue), but the job's is \(kind.rawValue)")
    }
    let debug = try fields["debug_info"].map { value throws(DecodingFailure) in
      try FieldReader(value, path: "debug_info")
    }
    return Analysis(
      id: id, kind: kind, conditions: try conditions(fields, normalIDs),
      answeredAt: try fields.time("timestamp", "created_at"),
      backendUser: try user(fields),
      model: try debug?.text("data_source", limit: FieldReader.shortLimit),
      processingMilliseconds: try debug.flatMap { fields throws(DecodingFailure) in
        try processingTime(fields)
      })
  }

  /// The account that the backend names: by its id, or as the whole of its profile, of which only the id is
  /// kept.
  private static func user(_ fields: FieldReader) throws(DecodingFailure) -> String? {
    guard case .object? = fields["user"], let profile = fields["user"] else {
      return try fields.identifier("user", or: "user_id")
    }
    return try FieldReader(profile, path: "user").requiredIdentifier("id")
  }

  /// The kind that an object names.
  static func kind(_ fields: FieldReader) throws(DecodingFailure) -> AnalysisKind {
    guard let value = fields["type"] else { throw fields.missing("type") }
    guard let text = value.text, let kind = AnalysisKind(rawValue: text) else {
      throw DecodingFailure(fields.place("type"), "is not a type that is known")
    }
    return kind
  }

  /// The conditions of an object, in their order.
  static func conditions(
    _ fields: FieldReader, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> [Condition] {
    guard let elements = try fields.list("conditions", limit: greatestConditionCount) else {
      throw fields.missing("conditions")
    }
    var conditions: [Condition] = []
    conditions.reserveCapacity(elements.count)
    let path = fields.place("conditions")
    for (index, element) in elements.enumerated() {
      conditions.append(try condition(try FieldReader(element, path: path, at: index), normalIDs))
    }
    return conditions
  }

  private static func condition(
    _ fields: FieldReader, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> Condition {
    let id = try fields.requiredText("id")
    return Condition(
      id: id, name: try fields.requiredText("name"), confidence: try confidence(fields),
      explanation: try fields.text("description"), symptoms: try symptoms(fields),
      isPotentiallySerious: try fields.bool("isPotentiallySerious"),
      recommendsConsultation: try fields.bool("recommendConsultation"),
      // Newer models give their advice under the second name.
      treatment: try fields.text("treatmentInfo", or: "recommendationText"),
      isNormal: normalIDs.contains(id))
  }

  private static func confidence(_ fields: FieldReader) throws(DecodingFailure) -> Confidence {
    guard let value = fields["confidence"] else { throw fields.missing("confidence") }
    guard let number = value.number, let confidence = Confidence(number) else {
      throw DecodingFailure(fields.place("confidence"), "is not a number from 0 to 1")
    }
    return confidence
  }

  private static func symptoms(_ fields: FieldReader) throws(DecodingFailure) -> [String]? {
    guard let elements = try fields.list("symptoms", limit: greatestSymptomCount) else { return nil }
    var symptoms: [String] = []
    symptoms.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      symptoms.append(
        try FieldReader.text(
          element, "\(fields.place("symptoms"))[\(index)]", limit: FieldReader.longLimit))
    }
    return symptoms
  }

  private static func processingTime(_ fields: FieldReader) throws(DecodingFailure) -> Double? {
    guard let value = fields["processing_time"] else { return nil }
    guard let number = value.number, number >= 0 else {
      throw DecodingFailure(fields.place("processing_time"), "is not a number from 0")
    }
    return number
  }
}
