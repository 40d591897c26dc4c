import BenchmarkDay
import CommandLineTool

/// The options of `benchmarks day`: what is assumed of the day, the server and the workers.
enum DayOptions {
  static let results = Option<String?>(
    "results", .path, help: "What was measured: the file of `scripts/bench --json FILE`.")
  static let jobs = Option<Int>(
    "jobs", .int(in: 1...10_000_000_000), default: 100_000_000, help: "Jobs of the day.")
  static let seed = Option<Int>(
    "seed", .int(in: 0...Int.max), default: 1,
    help: "Where the day's chances start; the same gives the same day.")
  static let images = Option<JobCosts.Images>(
    "images", .choice(JobCosts.Images.self), default: .database, help: "Where the images lie in the day.")
  static let submits = Option<JobCosts.Submits>(
    "submits", .choice(JobCosts.Submits.self), default: .one,
    help: "Whether each job is submitted by a call of its own, or many are by one.")

  static let cores = Option<Int>(
    "cores", .int(in: 1...4096), default: 32, help: "Cores of the database server in the day.")
  static let log = Option<Double>(
    "wal", .double(in: 0.001...1_000_000), default: 500, valueName: "MB",
    help: "Write-ahead log that the server can write, in MB (millions of bytes) a second.")
  static let network = Option<Double>(
    "network", .double(in: 0.001...10_000), default: 10, valueName: "GBIT",
    help: "The server's network in each direction, in Gbit a second.")
  static let connections = Option<Int>(
    "connections", .int(in: 6...1_000_000), default: 500,
    help: "Connections that the workers may hold, of the server or of a pooler.")
  static let standbys = Option<Int>(
    "standbys", .int(in: 0...100), default: 0, help: "Standbys that are sent the log.")

  static let callTime = Option<Duration>(
    "call-time", .duration(in: .milliseconds(1) ... .seconds(3600)), default: .seconds(1),
    help: "How long the endpoint takes for a call.")
  static let workers = Option<Int?>(
    "workers", .int(in: 1...1_000_000), help: "Workers in the day; else as many as have connections.")
  static let inFlight = Option<Int>(
    "in-flight", .int(in: 1...100_000), default: 64, help: "Calls in flight of a worker.")

  /// All of them, in the order of the help.
  static let all: [any Input] = [
    results, jobs, seed, images, submits, cores, log, network, connections, standbys, callTime, workers,
    inFlight,
  ]

  /// The server that the options describe.
  static func machine(_ values: Values) throws -> Machine {
    Machine(
      cores: try values[cores], logBytesPerSecond: try values[log] * 1e6,
      networkBytesPerSecond: try values[network] * 1e9 / 8, connections: try values[connections],
      standbys: try values[standbys])
  }

  /// The workers that the options describe.
  static func fleet(_ values: Values) throws -> WorkerFleet {
    WorkerFleet(
      workers: try values[workers], inFlight: try values[inFlight],
      callSeconds: try values[callTime] / .seconds(1))
  }
}
