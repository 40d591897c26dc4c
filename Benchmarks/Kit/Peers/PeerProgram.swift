/// The program that does the rows' work by other queues, each by its own code (`Benchmarks/peers`).
public struct PeerProgram: Sendable, Equatable {
  /// The Python in whose environment the peers are installed.
  public let python: String
  /// The program's path.
  public let program: String
  /// The peers that are measured.
  public let names: [String]
  /// Those that were to be measured too, and that there is no program for.
  public let leftOut: [String]

  /// The peers that it knows.
  public static let names = ["procrastinate", "pgqueuer", "awa", "river"]

  /// A program and the Python that runs it.
  ///
  /// - Parameters:
  ///   - wanted: The peers that are to be measured.
  ///   - missing: Those that there is no program for.
  public init(
    python: String, program: String, wanted: [String] = PeerProgram.names, missing: [String] = []
  ) {
    self.python = python
    self.program = program
    names = Self.names.filter { wanted.contains($0) && !missing.contains($0) }
    leftOut = Self.names.filter { wanted.contains($0) && missing.contains($0) }
  }

  /// Runs an action of a peer to its end without metering it.
  public func run(_ peer: String, _ action: String, _ database: BenchmarkDatabase, _ options: [String] = [])
    async throws
  {
    _ = try await MeasuredProcess.run(python, arguments(peer, action, database, options))
  }

  func arguments(_ peer: String, _ action: String, _ database: BenchmarkDatabase, _ options: [String])
    -> [String]
  {
    [program, peer, action, "--dsn", database.url] + options
  }
}

extension Bench {
  /// A contender for each peer that does some work by its own code in a database of its own; none when the peers are
  /// left out.
  ///
  /// - Parameters:
  ///   - action: What is timed, for instance `drain`.
  ///   - detail: What stands behind each peer's name; nil for nothing.
  ///   - prepare: Options of `prepare`, which comes first, untimed.
  ///   - fill: The action that puts the jobs in before, untimed; nil when there is none.
  ///   - options: Options of both, for instance `--jobs 1000`.
  ///   - vacuums: Whether the database is vacuumed and analyzed before the clock.
  ///   - environment: What is added to the environment of what is timed.
  public func peers(
    _ action: String, _ detail: String? = nil, prepare: [String] = [], fill: String? = nil, options: [String],
    vacuums: Bool = true, environment: [String: String] = [:]
  ) -> [Contender] {
    guard let peers = settings.peers else { return [] }
    return peers.names.map { peer in
      Contender([peer, detail].compactMap { $0 }.joined(separator: ", "), .peer) { bench in
        try await bench.withEmptyDatabase(named: "peer_\(peer)") { database in
          try await peers.run(peer, "prepare", database, prepare)
          if let fill { try await peers.run(peer, fill, database, options) }
          try await bench.cluster.settle(database, vacuums: vacuums)
          return try await bench.measure(
            peers.python, peers.arguments(peer, action, database, options), environment: environment)
        }
      }
    }
  }
}
