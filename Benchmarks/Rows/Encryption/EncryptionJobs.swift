import BenchmarkKit

/// Jobs that the encryption rows run again and again, all of them on images in plaintext or all on encrypted ones.
protocol EncryptionJobs: Sendable {
  /// Runs all of them in a fresh database, with server and worker metered. What it throws ends the contender.
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample
  /// Ends what was started for them; called once, also after a failure.
  func end() async
}

extension JobStage: EncryptionJobs {
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample {
    try await run(bench, inFlight: inFlight, vacuums: true)
  }
}
