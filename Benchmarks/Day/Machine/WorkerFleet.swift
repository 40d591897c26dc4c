/// The workers, and the endpoint that they call.
public struct WorkerFleet: Sendable, Equatable, Codable {
  /// Connections that one worker holds: control, leases, store, two for images, one to listen.
  public static let connectionsEach = 6
  /// The results that are stored together at most, and how long the first of them waits for others, in seconds: the
  /// worker's defaults.
  private static let resultsAtOnce = 100.0
  private static let patience = 0.02

  /// How many there are; nil for as many as have connections.
  public var workers: Int?
  /// Calls that one has in flight.
  public var inFlight: Int
  /// How long a call takes, in seconds.
  public var callSeconds: Double

  /// Workers with so many calls in flight, of so many seconds each.
  public init(workers: Int? = nil, inFlight: Int, callSeconds: Double) {
    self.workers = workers
    self.inFlight = inFlight
    self.callSeconds = callSeconds
  }

  /// Jobs a second of one worker at most: what its calls in flight give, or one core. It may use more than one, so that
  /// this is cautious.
  public func rateEach(_ costs: JobCosts) -> Double {
    min(Double(inFlight) / callSeconds, 1 / costs.workerSeconds)
  }

  /// How many workers so many jobs a second need.
  public func needed(for rate: Double, _ costs: JobCosts) -> Int {
    guard rate > 0 else { return 0 }
    // A rate that is just so many workers' must not need one more by rounding.
    return Int((rate / rateEach(costs) - 1e-9).rounded(.up))
  }

  /// Statements that store results in a second, by all the workers together, at so many jobs a second.
  public func stores(at rate: Double, _ costs: JobCosts) -> Double {
    let each = min(rate, rateEach(costs))
    return rate / min(Self.resultsAtOnce, 1 + each * Self.patience)
  }
}
