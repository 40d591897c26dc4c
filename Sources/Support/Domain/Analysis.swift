/// An answer of the model, checked as a whole.
public struct Analysis: Equatable, Sendable {
  /// The answer's id at the endpoint; never empty.
  public var id: String
  /// What was analysed.
  public var kind: AnalysisKind
  /// What was found, in the model's order; empty for no finding.
  public var conditions: [Condition]
  /// When the endpoint says that it answered, in seconds since 1970; nil when it did not say.
  public var answeredAt: Double?
  /// The account under which the endpoint counted the call, as it names it.
  public var endpointUser: String?
  /// What the endpoint says of its model or of where its data came from.
  public var model: String?
  /// How long the endpoint says that it computed, in milliseconds.
  public var processingMilliseconds: Double?

  /// An answer with all that is known of it.
  public init(
    id: String, kind: AnalysisKind, conditions: [Condition], answeredAt: Double? = nil,
    endpointUser: String? = nil, model: String? = nil, processingMilliseconds: Double? = nil
  ) {
    self.id = id
    self.kind = kind
    self.conditions = conditions
    self.answeredAt = answeredAt
    self.endpointUser = endpointUser
    self.model = model
    self.processingMilliseconds = processingMilliseconds
  }

  /// The first condition.
  public var primary: Condition? { conditions.first }

  /// The second condition.
  public var secondary: Condition? { conditions.count > 1 ? conditions[1] : nil }

  /// Whether any condition may be serious; nil when none says.
  public var isPotentiallySerious: Bool? { combined { $0.isPotentiallySerious } }

  /// Whether seeing a doctor is recommended for any condition; nil when none says.
  public var recommendsConsultation: Bool? { combined { $0.recommendsConsultation } }

  /// The highest confidence of a condition that may be serious and is not normal; -1 when there is none, nil when no
  /// condition says.
  public var seriousConfidence: Double? { confidence(of: { $0.isPotentiallySerious }) }

  /// The highest confidence of a condition for which seeing a doctor is recommended and that is not normal; -1 when there
  /// is none, nil when no condition says.
  public var consultationConfidence: Double? { confidence(of: { $0.recommendsConsultation }) }

  private func combined(_ flag: (Condition) -> Bool?) -> Bool? {
    var found: Bool?
    for condition in conditions {
      if let isSet = flag(condition) { found = isSet || found == true }
    }
    return found
  }

  private func confidence(of flag: (Condition) -> Bool?) -> Double? {
    guard combined(flag) != nil else { return nil }
    return conditions.reduce(-1.0) { highest, condition in
      flag(condition) == true && !condition.isNormal ? max(highest, condition.confidence.value) : highest
    }
  }
}

/// One condition that the model found in a photo, checked.
public struct Condition: Equatable, Sendable {
  /// The condition's name among programs; never empty.
  public var id: String
  /// The condition's name among people; never empty.
  public var name: String
  /// How sure the model is.
  public var confidence: Confidence
  /// What the condition is; nil when the model did not say.
  public var explanation: String?
  /// Its symptoms; nil when the model did not say, which is not the same as none.
  public var symptoms: [String]?
  /// Whether it may be serious; nil when the model did not say.
  public var isPotentiallySerious: Bool?
  /// Whether seeing a doctor is recommended; nil when the model did not say.
  public var recommendsConsultation: Bool?
  /// What may be done about it; nil when the model did not say.
  public var treatment: String?
  /// What newer models recommend, which may come beside the treatment; nil when the model did not say.
  public var recommendation: String?
  /// Whether this is the absence of a finding, by its id: such a condition has a band like any other
  /// but is shown neutrally and counted apart.
  public var isNormal: Bool

  /// A condition with all that is known of it.
  public init(
    id: String, name: String, confidence: Confidence, explanation: String? = nil, symptoms: [String]? = nil,
    isPotentiallySerious: Bool? = nil, recommendsConsultation: Bool? = nil, treatment: String? = nil,
    recommendation: String? = nil, isNormal: Bool = false
  ) {
    self.id = id
    self.name = name
    self.confidence = confidence
    self.explanation = explanation
    self.symptoms = symptoms
    self.isPotentiallySerious = isPotentiallySerious
    self.recommendsConsultation = recommendsConsultation
    self.treatment = treatment
    self.recommendation = recommendation
    self.isNormal = isNormal
  }

  /// The ids that mean "nothing found" unless configured otherwise.
  public static let defaultNormalIDs: Set<String> = ["normal", "healthy"]
}
