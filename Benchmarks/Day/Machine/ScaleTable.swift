/// How many jobs a second servers of several sizes carry.
public struct ScaleTable: Sendable, Equatable, Codable {
  /// A server.
  public struct Line: Sendable, Equatable, Codable {
    /// Its cores.
    public var cores: Int
    /// Where the images lie.
    public var images: JobCosts.Images
    /// Jobs a second until each resource has run out; a resource that jobs do not use is not there.
    public var rates: [Resource: Double]
    /// The resource that runs out first.
    public var wall: Resource
    /// Jobs a second at that wall.
    public var rate: Double
    /// The workers that make so many calls.
    public var workers: Int
    /// The connections that these hold.
    public var connections: Int
    /// The cores that these keep busy, on machines of their own.
    public var workerCores: Double
    /// Statements a second that store results.
    public var stores: Double
  }

  /// The sizes that are asked for: cores.
  public static let sizes = [8, 32, 96]

  /// The servers, by the places of the images and then by cores.
  public let lines: [Line]

  /// Computes the table.
  ///
  /// - Parameters:
  ///   - costs: One for each place of the images.
  ///   - machine: A server of which all but the cores is taken.
  ///   - fleet: What a worker does; how many there are follows from the wall.
  public init(costs: [JobCosts], machine: Machine, fleet: WorkerFleet, sizes: [Int] = Self.sizes) {
    var fleet = fleet
    fleet.workers = nil
    lines = costs.flatMap { costs in
      sizes.map { cores in
        var machine = machine
        machine.cores = cores
        return Self.line(costs, machine, fleet)
      }
    }
  }

  private static func line(_ costs: JobCosts, _ machine: Machine, _ fleet: WorkerFleet) -> Line {
    let walls = Walls(costs, machine, fleet)
    let rate = walls.rate(walls.first)
    let workers = fleet.needed(for: rate, costs)
    let rates = walls.resources.map { ($0, walls.rate($0)) }.filter(\.1.isFinite)
    return Line(
      cores: machine.cores, images: costs.images, rates: Dictionary(uniqueKeysWithValues: rates),
      wall: walls.first, rate: rate, workers: workers, connections: workers * WorkerFleet.connectionsEach,
      workerCores: rate * costs.workerSeconds, stores: fleet.stores(at: rate, costs))
  }
}
