import Foundation

/// What a program under test tells of its own work, as one line of JSON at the end of its standard output. Our own
/// programs and those of the peers write the same.
public struct ProgramReport: Sendable, Equatable, Codable {
  /// What was done: jobs, or rounds.
  public var amount: Double
  /// How long it took, in seconds.
  public var seconds: Double
  /// User and system seconds that it used meanwhile; nil when it does not say.
  public var workerSeconds: Double?
  /// The peak of its resident memory in bytes; nil when it does not say.
  public var peakMemory: Int?
  /// The percentiles of a latency in milliseconds, by `p50`, `p95` and `p99`; nil when none was measured.
  public var latency: [String: Double]?
  /// The program's version; nil when it does not say.
  public var version: String?

  private enum CodingKeys: String, CodingKey {
    case amount = "jobs"
    case seconds
    case workerSeconds = "cpu_seconds"
    case peakMemory = "peak_rss_bytes"
    case latency = "latency_ms"
    case version
  }

  /// A report of some work.
  public init(
    amount: Double, seconds: Double, workerSeconds: Double? = nil, peakMemory: Int? = nil,
    latency: [String: Double]? = nil, version: String? = nil
  ) {
    self.amount = amount
    self.seconds = seconds
    self.workerSeconds = workerSeconds
    self.peakMemory = peakMemory
    self.latency = latency
    self.version = version
  }

  /// Reads the last line of what a program wrote.
  ///
  /// - Throws: ``BenchmarkError`` when it is no report.
  public init(output: String) throws {
    let line = output.split(separator: "\n").last ?? ""
    guard let report = try? JSONDecoder().decode(ProgramReport.self, from: Data(line.utf8)) else {
      throw BenchmarkError("A program did not end with a report but with: \(line.prefix(500))")
    }
    self = report
  }

  /// The line, without its end.
  public func line() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The latency as a sample's further figures: `p50_ms` and so on.
  public var further: [String: Double] {
    Dictionary(uniqueKeysWithValues: (latency ?? [:]).map { ("\($0.key)_ms", $0.value) })
  }
}
