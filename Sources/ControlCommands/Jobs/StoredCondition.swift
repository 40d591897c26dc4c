import AnalysisCore
import FoundationEssentials

/// A condition as it is stored with a result.
struct StoredCondition: Sendable, Equatable, Decodable {
  let id: String
  let name: String
  let confidence: Double
  /// The band's number.
  let band: Int16?
  let normal: Bool?

  /// The band that was stored with it.
  var shownBand: ConfidenceBand? { band.flatMap { ConfidenceBand(code: $0) } }

  /// `78%`.
  var percentage: String? { Confidence(confidence)?.percentageText }

  /// Reads the stored array; empty where it is not one.
  static func read(_ json: String) -> [StoredCondition] {
    (try? JSONDecoder().decode([StoredCondition].self, from: Data(json.utf8))) ?? []
  }
}
