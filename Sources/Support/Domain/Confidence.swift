internal import Glibc  // rounding links the mathematical library

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

  /// The whole percentage under which it is shown: rounded, but never to one of a higher band than its
  /// own, so that 0.7999 is 79 and stands under orange, not 80 under orange.
  public var percentage: Int {
    var whole = Int((value * 100).rounded())
    while let shown = Confidence(Double(whole) / 100), shown.band > band { whole -= 1 }
    return whole
  }

  /// The percentage with its sign, for instance `78%`.
  public var percentageText: String { "\(percentage)%" }
}

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
  public init(_ confidence: Confidence) {
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
