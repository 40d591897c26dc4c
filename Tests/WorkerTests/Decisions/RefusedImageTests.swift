import Testing

@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

@Suite("An image that is refused")
struct RefusedImageTests {
  static let cases: [(ImageRefusal.Code, Int, Bool)] = [
    (.damaged, 1, false), (.unsupportedFormat, 1, false), (.tooManyPixels, 1, false),
    (.notProcessed, 1, true), (.notProcessed, 2, true), (.notProcessed, 3, false),
  ]

  @Test("is tried again only when this machine failed, and only while there are attempts", arguments: cases)
  func decision(code: ImageRefusal.Code, attempt: Int, isRetried: Bool) throws {
    let period = try #require(Period(label: 24_310))
    let job = ClaimedJob(
      shard: 0, lease: 1, lane: Lane(.throat, .normal), id: JobID(7), period: period, attempt: attempt,
      maxAttempts: 3, virtualTime: 0, userID: 1, kind: .throat, image: ImageKey(period: period, id: 1),
      imageMark: [], imageBytes: 10, isUnsanitized: true, isExpired: false)
    var random = SystemRandomNumberGenerator()
    let failed = FailedAttempt.refusedImage(
      job, ImageRefusal(code, "Why."), by: RetryPolicy(), using: &random)
    #expect(failed.failureClass == .image)
    #expect(failed.calls == 0)
    if case .retry(_, let consumes) = failed.decision {
      #expect(isRetried && consumes)
    } else {
      #expect(!isRetried)
    }
  }
}
