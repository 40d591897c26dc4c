internal import Glibc  // rounding links the mathematical library

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
  var endpointUser: String?
  /// What the endpoint says of its model or of where its data came from.
  public var model: String?
  /// How long the endpoint says that it computed, in milliseconds.
  var processingMilliseconds: Double?

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

/// What a photo shows, and so which model analyses it.
public enum AnalysisKind: String, Sendable, CaseIterable, Codable {
  /// A photo of a throat.
  case throat
  /// A photo of an ear.
  case ear

  /// The type's number in the database.
  public var code: Int16 {
    switch self {
    case .throat: 1
    case .ear: 2
    }
  }

  /// The type with a number of the database; nil when there is none.
  public init?(code: Int16) {
    switch code {
    case 1: self = .throat
    case 2: self = .ear
    default: return nil
    }
  }

  /// The name shown to people.
  var displayName: String {
    switch self {
    case .throat: "Throat"
    case .ear: "Ear"
    }
  }
}

/// How sure the model is of a condition: a finite number from 0 to 1.
public struct Confidence: Hashable, Sendable {
  /// The number as the model gave it.
  public let value: Double

  /// Takes a number from 0 to 1; nil for every other, not-a-number and the infinities among them.
  public init?(_ value: Double) {
    guard value >= 0, value <= 1 else { return nil }
    self.value = value
  }

  /// The band under which it is shown.
  public var band: ConfidenceBand { ConfidenceBand(self) }

  /// The whole percentage under which it is shown: never one of a higher band than its own, so that 0.7999 is 79 and
  /// stands under orange, not 80 under orange.
  public var percentage: Int {
    var whole = wholePercentage(value)
    while let shown = Confidence(Double(whole) / 100), shown.band > band { whole -= 1 }
    return whole
  }

  /// The percentage with its sign, for instance `78%`.
  public var percentageText: String { "\(percentage)%" }
}

/// A share from 0 to 1 as a whole percentage, rounded as the apps do: a half goes to the even number, so 0.125 is 12.
public func wholePercentage(_ share: Double) -> Int { Int((share * 100).rounded(.toNearestOrEven)) }

/// The colour under which a confidence is shown.
///
/// The bands are the endpoint's: 0.8 to 1 red, 0.6 up to 0.8 orange, 0.4 up to 0.6 yellow, below
/// 0.4 green; a lower edge belongs to the higher band.
public enum ConfidenceBand: String, Sendable, CaseIterable, Codable, Comparable {
  /// Below 0.4.
  case green
  /// 0.4 up to but not including 0.6.
  case yellow
  /// 0.6 up to but not including 0.8.
  case orange
  /// 0.8 to 1.
  case red

  /// The band of a confidence. The number is compared as it is, never rounded first.
  init(_ confidence: Confidence) {
    self =
      switch confidence.value {
      case 0.8...: .red
      case 0.6..<0.8: .orange
      case 0.4..<0.6: .yellow
      default: .green
      }
  }

  /// The band's number in the database, higher for more confidence.
  public var code: Int16 {
    switch self {
    case .green: 1
    case .yellow: 2
    case .orange: 3
    case .red: 4
    }
  }

  /// The band with a number of the database; nil when there is none.
  public init?(code: Int16) {
    switch code {
    case 1: self = .green
    case 2: self = .yellow
    case 3: self = .orange
    case 4: self = .red
    default: return nil
    }
  }

  /// Orders bands by confidence.
  public static func < (left: ConfidenceBand, right: ConfidenceBand) -> Bool {
    left.code < right.code
  }
}

/// What a condition is shown as, everywhere: its band, or that it is normal. A normal one has no band, which would alarm
/// by being sure.
public enum ConditionMark: String, Sendable, CaseIterable {
  case normal, green, yellow, orange, red

  /// The mark of a condition; nil where neither is known.
  public init?(_ band: ConfidenceBand?, isNormal: Bool?) {
    guard let mark = isNormal == true ? .normal : band.flatMap({ Self(rawValue: $0.rawValue) }) else {
      return nil
    }
    self = mark
  }
}
