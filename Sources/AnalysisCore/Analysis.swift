/// An answer of the model, checked as a whole.
public struct Analysis: Equatable, Sendable {
  /// The answer's id at the backend; never empty.
  public var id: String
  /// What was analysed.
  public var kind: AnalysisKind
  /// What was found, in the model's order; empty for no finding.
  public var conditions: [Condition]
  /// When the backend says that it answered, in seconds since 1970; nil when it did not say.
  public var answeredAt: Double?
  /// The account under which the backend counted the call, as it names it.
  public var backendUser: String?
  /// What the backend says of its model or of where its data came from.
  public var model: String?
  /// How long the backend says that it computed, in milliseconds.
  public var processingMilliseconds: Double?

  /// An answer with all that is known of it.
  public init(
    id: String, kind: AnalysisKind, conditions: [Condition], answeredAt: Double? = nil,
    backendUser: String? = nil, model: String? = nil, processingMilliseconds: Double? = nil
  ) {
    self.id = id
    self.kind = kind
    self.conditions = conditions
    self.answeredAt = answeredAt
    self.backendUser = backendUser
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
