import AnalysisCore
import Formatting
import PostgreSQL

/// One analysed photo.
struct AnalysesResponse: Equatable, Sendable {
  /// A condition as far as the report shows it.
  struct Finding: Equatable, Sendable {
    let id: BorrowedText
    let name: BorrowedText
    let confidence: Confidence
    /// The band as it was stored with the result.
    let band: ConfidenceBand
    /// Whether it is the absence of a finding.
    let isNormal: Bool
  }

  let job: JobID
  let user: BorrowedText
  let kind: AnalysisKind
  let primary: Finding?
  let secondary: Finding?
  let conditionCount: Int64
  /// By the setting `consult_from`; nil when no condition says, like the next three.
  let isSerious: Bool?
  let advisesConsultation: Bool?
  /// The endpoint's own.
  let endpointSaysSerious: Bool?
  let endpointAdvisesConsultation: Bool?
  /// The number of the attempt that brought the result.
  let attempt: Int64
  /// Calls of the endpoint for that attempt.
  let calls: Int64
  /// The answer's id at the backend.
  let analysisID: BorrowedText?
  let endpoint: BorrowedText?
  let model: BorrowedText?
  /// When the backend says that it answered; nil when it did not say.
  let answeredAt: LocalTime?
  let finishedAt: LocalTime
}
