internal import HTTPTransfer
public import Support

extension ModelClient {
  /// Has the endpoint keep an analysis with the service account. A repeat makes a second one there: the
  /// endpoint gives out ids of its own.
  public func save(_ analysis: Analysis) async throws(CallFailure) -> SaveReceipt {
    let value = try await authenticated(.post, endpoint.paths.save, body: Self.saved(analysis))
    return SaveReceipt(value)
  }

  /// What the endpoint keeps with the service account; some endpoints answer the latest 20 analyses only.
  public func history() async throws(CallFailure) -> AnalysisHistory {
    let value = try await authenticated(.get, endpoint.paths.analyses)
    return try transport.read { () throws(DecodingFailure) in
      let fields = try AnswerFields(value, path: "")
      let name = endpoint.fields.analyses
      var analyses: [SavedAnalysis] = []
      for (index, element) in try fields.requiredList(name, limit: 100_000).enumerated() {
        let fields = try AnswerFields(element, path: name, at: index)
        analyses.append(try SavedAnalysis(fields, normalIDs: endpoint.normalIDs))
      }
      let status = fields.optional("subscription").flatMap { try? SubscriptionStatus($0) }
      return AnalysisHistory(analyses: analyses, subscription: status)
    }
  }

  /// Deletes one of the analyses that the endpoint keeps.
  public func delete(analysis id: String) async throws(CallFailure) {
    guard !id.isEmpty, id != ".", id != ".." else {
      throw CallFailure(.permanent, "An analysis without an id cannot be deleted.")
    }
    _ = try await authenticated(.delete, "\(endpoint.paths.analysis)/\(Self.pathSegment(id))")
  }

  private static func saved(_ analysis: Analysis) -> JSONValue {
    [
      "id": .string(analysis.id), "type": .string(analysis.kind.rawValue),
      "conditions": .array(analysis.conditions.map(saved)),
    ]
  }

  /// What the model did not say is left out, not sent as false or empty.
  private static func saved(_ condition: Condition) -> JSONValue {
    let fields: [(String, JSONValue?)] = [
      ("id", .string(condition.id)), ("name", .string(condition.name)),
      ("confidence", .number(condition.confidence.value)),
      ("description", condition.explanation.map { .string($0) }),
      ("symptoms", condition.symptoms.map { .array($0.map { .string($0) }) }),
      ("isPotentiallySerious", condition.isPotentiallySerious.map { .bool($0) }),
      ("recommendConsultation", condition.recommendsConsultation.map { .bool($0) }),
      ("treatmentInfo", condition.treatment.map { .string($0) }),
      ("recommendationText", condition.recommendation.map { .string($0) }),
    ]
    return .object(
      fields.compactMap { name, value in value.map { JSONValue.Member(name: name, value: $0) } })
  }

  /// An id as one segment of a path: all but letters, digits and `-._~` is escaped.
  static func pathSegment(_ id: String) -> String {
    var result = ""
    for byte in id.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return result
  }
}
