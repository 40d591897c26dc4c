import ImageEncryption
import Images

/// What a submit is asked to do.
struct SubmitRequest: Sendable {
  var items: [SubmitItem]
  /// What the images are held to.
  var limits = ImageLimits()
  /// Under what they are encrypted before they are stored; nil to leave them in plaintext.
  var keys: KeyRing?
  /// Whether, and for how long, to wait for the jobs' ends.
  var waiting = Waiting.none

  enum Waiting: Sendable, Equatable {
    case none
    case untilAllEnd
    case atMost(Duration)
  }
}

/// What a submit came to, after its results were told one by one.
struct SubmitResponse: Sendable {
  var tally: SubmitTally
  /// Whether a signal ended it early.
  var isInterrupted: Bool
  /// Why it ended early otherwise; what was submitted before stays.
  var failure: (any Error)?
}
