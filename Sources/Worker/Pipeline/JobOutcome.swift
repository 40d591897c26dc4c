internal import JobQueue

/// What became of a claimed job, to be told to the queue.
enum JobOutcome: Sendable {
  case completed(CompletedJob)
  case failed(FailedAttempt)
  case released(HeldJob)
}
