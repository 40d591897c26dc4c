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
