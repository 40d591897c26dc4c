/// The figure by which the contenders of a row are compared.
public enum Headline: Sendable, Equatable {
  /// The amount a second, in the unit named (`jobs`, `MB`): more is better.
  case rate(of: String)
  /// One of a sample's further figures, in the unit named: less is better.
  case figure(String, unit: String)

  /// The unit as it is shown.
  public var unit: String {
    switch self {
    case .rate(let what): "\(what)/s"
    case .figure(_, let unit): unit
    }
  }

  /// The figure of a sample; nil when it has none.
  public func value(of sample: Sample) -> Double? {
    switch self {
    case .rate: sample.rate
    case .figure(let name, _): sample.further[name]
    }
  }
}
