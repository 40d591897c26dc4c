import Testing

@testable import BenchmarkDay

@Suite("The walls of a machine")
struct WallsTests {
  @Test("stand where each resource runs out, and the first is the scarcest")
  func rates() {
    let walls = Walls(SampleDay.costs, SampleDay.machine, SampleDay.fleet)
    #expect(walls.rate(.processors) == 8000)
    #expect(walls.rate(.log) == 1000)
    #expect(walls.rate(.networkIn) == 10_000)
    #expect(walls.rate(.networkOut) == 10_000)
    #expect(walls.rate(.connections) == 6400)
    #expect(walls.first == .log)
    #expect(!walls.resources.contains(.workers))
  }

  @Test(
    "are moved by what is scarce, and by nothing else",
    arguments: [
      (
        Resource.processors,
        Machine(cores: 1, logBytesPerSecond: 1e12, networkBytesPerSecond: 1e12, connections: 6000)
      ),
      (.log, Machine(cores: 96, logBytesPerSecond: 1e6, networkBytesPerSecond: 1e12, connections: 6000)),
      (
        .networkIn, Machine(cores: 96, logBytesPerSecond: 1e12, networkBytesPerSecond: 1e6, connections: 6000)
      ),
      (
        .connections, Machine(cores: 96, logBytesPerSecond: 1e12, networkBytesPerSecond: 1e12, connections: 6)
      ),
    ])
  func first(_ resource: Resource, _ machine: Machine) {
    #expect(Walls(SampleDay.costs, machine, SampleDay.fleet).first == resource)
  }

  @Test("of few workers stand where their calls do, or their own processors")
  func workers() {
    var fleet = SampleDay.fleet
    fleet.workers = 2
    let walls = Walls(SampleDay.costs, SampleDay.machine, fleet)
    #expect(walls.first == .workers)
    #expect(walls.rate(.workers) == 128)
    fleet.callSeconds = 0.001
    #expect(fleet.rateEach(SampleDay.costs) == 1000)
  }

  @Test("of the network come nearer with each standby, which takes the log")
  func standbys() {
    var machine = SampleDay.machine
    machine.standbys = 2
    let walls = Walls(SampleDay.costs, machine, SampleDay.fleet)
    #expect(abs(walls.rate(.networkOut) - 1e9 / 2_100_000) < 1e-6)
    #expect(walls.rate(.networkIn) == 10_000)
  }

  @Test("are not met by images that lie elsewhere")
  func objects() {
    var costs = SampleDay.costs
    costs.images = .objects
    let walls = Walls(costs, SampleDay.machine, SampleDay.fleet)
    #expect(walls.rate(.networkIn) == .infinity)
    #expect(walls.rate(.networkOut) == .infinity)
  }

  @Test("in a table are those of each size, with the workers and connections of the wall")
  func table() throws {
    let table = ScaleTable(costs: [SampleDay.costs], machine: SampleDay.machine, fleet: SampleDay.fleet)
    #expect(table.lines.map(\.cores) == [8, 32, 96])
    let line = try #require(table.lines.first)
    #expect(line.wall == .log)
    #expect(line.rate == 1000)
    #expect(line.workers == 16)
    #expect(line.connections == 96)
    #expect(line.workerCores == 1)
    for line in table.lines {
      #expect(line.rates.values.min() == line.rate)
      #expect(line.connections <= SampleDay.machine.connections)
    }
  }

  @Test("A worker stores more results at once the more calls are answered")
  func stores() {
    let slow = WorkerFleet(inFlight: 1, callSeconds: 1)
    #expect(abs(slow.stores(at: 1, SampleDay.costs) - 1 / 1.02) < 1e-9)
    var fast = SampleDay.costs
    fast.workerSeconds = 1e-6
    #expect(WorkerFleet(inFlight: 64, callSeconds: 0.0001).stores(at: 100_000, fast) == 1000)
  }
}
