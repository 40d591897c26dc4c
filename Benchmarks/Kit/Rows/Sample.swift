/// What one run of a contender came to.
public struct Sample: Sendable, Equatable, Codable {
  /// What was done, in the unit of the row's headline: jobs, rows, megabytes, rounds.
  public var amount: Double
  /// How long it took, in seconds of the wall clock.
  public var seconds: Double
  /// User and system seconds of the process or processes under test; nil when nobody was metered.
  public var workerSeconds: Double?
  /// User and system seconds of all processes of the PostgreSQL cluster; nil when it had no part in it.
  public var serverSeconds: Double?
  /// The most memory the process under test held at once, in bytes; nil when it was not metered.
  public var peakMemory: Int?
  /// Further figures by name. The end of a name says its unit: `_ms`, `_bytes`, `_mb`; else it is a count.
  public var further: [String: Double]
  /// The version of the program, where it tells one.
  public var version: String?

  /// A run with what was measured of it.
  public init(
    amount: Double, seconds: Double, workerSeconds: Double? = nil, serverSeconds: Double? = nil,
    peakMemory: Int? = nil, further: [String: Double] = [:], version: String? = nil
  ) {
    self.amount = amount
    self.seconds = seconds
    self.workerSeconds = workerSeconds
    self.serverSeconds = serverSeconds
    self.peakMemory = peakMemory
    self.further = further
    self.version = version
  }

  /// The amount done in a second; zero when no time passed.
  public var rate: Double { seconds > 0 ? amount / seconds : 0 }

  /// Milliseconds of the worker's processors for a thousand of the amount.
  public var workerMilliseconds: Double? { workerSeconds.map(perThousand) }

  /// Milliseconds of the server's processors for a thousand of the amount.
  public var serverMilliseconds: Double? { serverSeconds.map(perThousand) }

  private func perThousand(_ seconds: Double) -> Double { amount > 0 ? seconds * 1_000_000 / amount : 0 }
}
