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
