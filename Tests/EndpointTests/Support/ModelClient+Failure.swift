@testable import Endpoint
@testable import Support

extension ModelClient {
  /// The failure of an analysis call; nil when it succeeds.
  func failure(_ kind: AnalysisKind = .throat, image: [UInt8] = [1, 2, 3]) async -> CallFailure? {
    switch await analyze(image: image, kind: kind, idempotencyKey: "key") {
    case .success: nil
    case .failure(let failure): failure
    }
  }
}
