/// How far a server and its workers carry: what each resource gives, and what a job takes of it.
///
/// A job's demand is the same at any load: nothing is taken for locks, caches or the memory's speed, which many
/// cores share.
public struct Walls: Sendable, Equatable {
  private let capacity: [Resource: Double]
  private let submit: [Resource: Double]
  private let work: [Resource: Double]

  /// The walls for jobs of these costs.
  public init(_ costs: JobCosts, _ machine: Machine, _ fleet: WorkerFleet) {
    let each = fleet.rateEach(costs)
    var capacity: [Resource: Double] = [
      .processors: Double(machine.cores), .log: machine.logBytesPerSecond,
      .networkIn: machine.networkBytesPerSecond, .networkOut: machine.networkBytesPerSecond,
      .connections: Double(machine.connections / WorkerFleet.connectionsEach) * each,
    ]
    if let workers = fleet.workers { capacity[.workers] = Double(workers) * each }
    self.capacity = capacity
    // Beside an image a job's few rows are nothing on the network.
    let imageBytes = costs.images == .database ? costs.imageBytes : 0
    let copies = Double(machine.standbys)
    submit = [
      .processors: costs.submit.serverSeconds, .log: costs.submit.logBytes, .networkIn: imageBytes,
      .networkOut: costs.submit.logBytes * copies,
    ]
    work = [
      .processors: costs.work.serverSeconds, .log: costs.work.logBytes,
      .networkOut: imageBytes + costs.work.logBytes * copies, .connections: 1, .workers: 1,
    ]
  }

  /// What there is, in the order of ``Resource``.
  public var resources: [Resource] { Resource.allCases.filter { capacity[$0] != nil } }

  /// Jobs a second that a resource carries, submitted and done at the same pace; infinite when they take nothing
  /// of it.
  public func rate(_ resource: Resource) -> Double {
    let demand = (submit[resource] ?? 0) + (work[resource] ?? 0)
    return demand > 0 ? (capacity[resource] ?? .infinity) / demand : .infinity
  }

  /// The resource that runs out first.
  public var first: Resource { resources.min { rate($0) < rate($1) } ?? .processors }

  /// How many of `waiting` jobs can be submitted in so many seconds.
  func submittable(_ waiting: Int, seconds: Double) -> Int {
    fitting(waiting, of: submit) { (capacity[$0] ?? 0) * seconds }
  }

  /// How many of `waiting` jobs can be done in so many seconds, in which so many are submitted too.
  func workable(_ waiting: Int, submitted: Int, seconds: Double) -> Int {
    fitting(waiting, of: work) { (capacity[$0] ?? 0) * seconds - (submit[$0] ?? 0) * Double(submitted) }
  }

  private func fitting(_ jobs: Int, of demand: [Resource: Double], _ left: (Resource) -> Double) -> Int {
    resources.reduce(jobs) { fewest, resource in
      guard let each = demand[resource], each > 0 else { return fewest }
      return min(fewest, Int(min(Double(jobs), max(0, left(resource) / each))))
    }
  }

  /// Which share of each resource is used, 1 being all of it.
  func use(submitted: Int, done: Int, seconds: Double) -> [Resource: Double] {
    var use: [Resource: Double] = [:]
    for resource in resources {
      let taken = (submit[resource] ?? 0) * Double(submitted) + (work[resource] ?? 0) * Double(done)
      if let all = capacity[resource], all > 0 { use[resource] = taken / (all * seconds) }
    }
    return use
  }
}
