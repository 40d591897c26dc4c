import Queue
import Support

/// Results to be stored where no model is asked.
struct SampleAnalyses: Sendable {
  private let conditions: [Condition]
  private let model: String?

  /// - Parameter isWhole: Three conditions with all that a model says of them, about 1 kB; else none.
  init(isWhole: Bool) {
    model = isWhole ? "model-2" : nil
    conditions =
      isWhole
      ? [
        ("tonsillitis", "Tonsillitis", 0.83), ("pharyngitis", "Pharyngitis", 0.41),
        ("normal", "Normal", 0.07),
      ]
      .compactMap { id, name, value in
        Confidence(value).map { confidence in
          Condition(
            id: id, name: name, confidence: confidence,
            explanation: "An inflammation of the back of the throat, mostly by a virus, that goes by itself.",
            symptoms: ["sore throat", "fever", "painful swallowing"], isPotentiallySerious: false,
            recommendsConsultation: value > 0.8, treatment: "Rest, fluids, and something against the pain.",
            isNormal: id == "normal")
        }
      } : []
  }

  /// A job's result.
  func completed(_ job: ClaimedJob) -> CompletedJob {
    CompletedJob(
      lease: job.lease, job: job.id,
      analysis: Analysis(id: "a", kind: job.kind, conditions: conditions, model: model), calls: 1,
      callMilliseconds: 0, endpoint: "none")
  }
}
