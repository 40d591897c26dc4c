internal import AnalysisCore
internal import ImageDecoding
internal import Images
internal import JobQueue

extension FailedAttempt {
  /// A job whose image could not be made fit to be sent: final, unless the image may be good and only this
  /// machine could not process it.
  static func refusedImage(
    _ job: ClaimedJob, _ refusal: ImageRefusal, by policy: RetryPolicy,
    using generator: inout some RandomNumberGenerator
  ) -> FailedAttempt {
    let decision = policy.decide(
      .image, attempt: job.attempt, maxAttempts: job.maxAttempts, isFinal: refusal.code != .notProcessed,
      using: &generator)
    return FailedAttempt(
      lease: job.lease, job: job.id, decision: decision, failureClass: .image, code: "image_refused",
      message: refusal.description)
  }

  /// A job whose image is encrypted under a key that is not here. Nothing is wrong with the job, so it consumes no
  /// attempt: it waits until somebody may have brought the key.
  static func imageKeyMissing(_ job: ClaimedJob, _ words: String, until delay: Duration) -> FailedAttempt {
    FailedAttempt(
      lease: job.lease, job: job.id, decision: .retry(after: delay, consumes: false), failureClass: .image,
      code: "image_key_missing", message: words)
  }

  /// A job whose image no decoder could be started for. Nothing is wrong with the job, so it consumes no attempt: it
  /// waits until somebody may have mended the machine, or another worker takes it.
  static func noDecoder(_ job: ClaimedJob, _ error: ImageDecoderError, until delay: Duration) -> FailedAttempt
  {
    FailedAttempt(
      lease: job.lease, job: job.id, decision: .retry(after: delay, consumes: false), failureClass: .image,
      code: "image_decoder_missing", message: error.description)
  }

  /// A job whose image was changed since it was encrypted, or is not its user's: no repeat mends that.
  static func tamperedImage(_ job: ClaimedJob, _ words: String) -> FailedAttempt {
    FailedAttempt(
      lease: job.lease, job: job.id, decision: .dead, failureClass: .image, code: "image_tampered",
      message: words)
  }
}
