import AnalysisCore
import ModelClient

extension ModelClient {
  /// The failure of an analysis call; nil when it succeeds.
  func failure(_ kind: AnalysisKind = .throat) async -> CallFailure? {
    switch await analyze(image: [1, 2, 3], kind: kind, idempotencyKey: "key") {
    case .success: nil
    case .failure(let failure): failure
    }
  }
}
