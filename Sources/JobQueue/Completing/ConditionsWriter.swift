import AnalysisCore
import Formatting

/// Writes conditions as the JSON that the database keeps, straight to UTF-8.
///
/// An object holds `id`, `name`, `confidence`, `band` (its number) and `normal`, and of `description`,
/// `symptoms`, `serious`, `consult`, `treatment` and `recommendation` those that the model gave: what it did not say
/// stays absent. A confidence is always finite, so every number is valid JSON.
enum ConditionsWriter {
  /// The JSON array of some conditions.
  static func json(_ conditions: [Condition]) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserve(64 + conditions.count * 512)
    writer.array(conditions) { write($1, to: &$0) }
    return writer.bytes
  }

  private static func write(_ condition: Condition, to json: inout JSONWriter) {
    json.raw("{\"id\":")
    json.string(condition.id)
    json.raw(",\"name\":")
    json.string(condition.name)
    json.raw(",\"confidence\":")
    json.raw(condition.confidence.value.description)
    json.raw(",\"band\":")
    json.raw(condition.confidence.band.code.description)
    json.raw(",\"normal\":")
    json.boolean(condition.isNormal)
    if let explanation = condition.explanation {
      json.raw(",\"description\":")
      json.string(explanation)
    }
    if let symptoms = condition.symptoms {
      json.raw(",\"symptoms\":")
      json.array(symptoms) { $0.string($1) }
    }
    if let serious = condition.isPotentiallySerious {
      json.raw(",\"serious\":")
      json.boolean(serious)
    }
    if let consult = condition.recommendsConsultation {
      json.raw(",\"consult\":")
      json.boolean(consult)
    }
    if let treatment = condition.treatment {
      json.raw(",\"treatment\":")
      json.string(treatment)
    }
    if let recommendation = condition.recommendation {
      json.raw(",\"recommendation\":")
      json.string(recommendation)
    }
    json.raw("}")
  }
}
