public import AnalysisCore
import FoundationEssentials

/// A condition as it is stored with a result.
public struct StoredCondition: Sendable, Equatable, Decodable {
  /// The endpoint's id of it.
  public let id: String
  /// What the endpoint calls it.
  public let name: String
  /// From 0 to 1.
  public let confidence: Double
  /// The band's number.
  public let band: Int16?
  /// Whether it says that nothing is wrong.
  public let normal: Bool?

  /// The band that was stored with it.
  public var shownBand: ConfidenceBand? { band.flatMap { ConfidenceBand(code: $0) } }

  /// `78%`.
  public var percentage: String? { Confidence(confidence)?.percentageText }

  /// Reads the stored array; empty where it is not one.
  public static func read(_ json: String) -> [StoredCondition] {
    (try? JSONDecoder().decode([StoredCondition].self, from: Data(json.utf8))) ?? []
  }
}
