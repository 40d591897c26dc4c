import FoundationEssentials
public import Queue
public import Support

/// A condition as it is stored with a result.
struct StoredCondition: Sendable, Equatable, Decodable {
  /// The endpoint's id of it.
  let id: String
  /// What the endpoint calls it.
  let name: String
  /// From 0 to 1.
  let confidence: Double
  /// The band's number.
  let band: Int16?
  /// Whether it says that nothing is wrong.
  let normal: Bool?
  /// What of the rest the model said.
  private let description: String?
  private let symptoms: [String]?
  private let serious: Bool?
  private let consult: Bool?
  private let treatment: String?
  private let recommendation: String?

  /// The band that was stored with it.
  var shownBand: ConfidenceBand? { band.flatMap { ConfidenceBand(code: $0) } }

  /// `78%`.
  var percentage: String? { Confidence(confidence)?.percentageText }

  /// Reads the stored array; empty where it is not one.
  static func read(_ json: String) -> [StoredCondition] {
    (try? JSONDecoder().decode([StoredCondition].self, from: Data(json.utf8))) ?? []
  }
}

extension StoredResult {
  /// The analysis as the model gave it.
  ///
  /// - Throws: `unexpectedAnswer` for what is no analysis.
  public func analysis(_ kind: AnalysisKind) throws(JobQueueError) -> Analysis {
    var conditions: [Condition] = []
    for stored in StoredCondition.read(conditionsJSON) {
      guard let confidence = Confidence(stored.confidence) else {
        throw JobQueueError(.unexpectedAnswer, "A stored condition has a confidence outside 0 to 1.")
      }
      conditions.append(stored.condition(confidence))
    }
    return Analysis(id: analysisID, kind: kind, conditions: conditions, answeredAt: answeredAt)
  }
}

extension StoredCondition {
  fileprivate func condition(_ confidence: Confidence) -> Condition {
    Condition(
      id: id, name: name, confidence: confidence, explanation: description, symptoms: symptoms,
      isPotentiallySerious: serious, recommendsConsultation: consult, treatment: treatment,
      recommendation: recommendation, isNormal: normal ?? false)
  }
}
