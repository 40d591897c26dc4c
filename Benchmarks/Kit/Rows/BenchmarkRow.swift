/// One row of the benchmarks: one kind of work, and those who do it.
///
/// The runner asks for the contenders once, then runs each of them once a round; at the end everything that was
/// made for the row is removed by ``clean(_:)`` and by the runner, which drops the row's databases.
public protocol BenchmarkRow: Sendable {
  /// How it is chosen on the command line.
  var name: String { get }
  /// What is measured, in one sentence.
  var sentence: String { get }
  /// By what the contenders are compared.
  var headline: Headline { get }
  /// Whether the server is to keep accounts of statements for this row, by `pg_stat_statements`.
  var keepsStatements: Bool { get }
  /// How often each contender is run: as often as the settings say, unless the row takes many short runs.
  func runs(_ settings: BenchmarkSettings) -> Int
  /// Those that are compared, the one that the others are set against first. Whatever they share is made here,
  /// untimed. Throwing ends the row, and no other.
  func contenders(_ bench: Bench) async throws -> [Contender]
  /// Ends what the contenders shared; called also when the row failed.
  func clean(_ bench: Bench) async
}

extension BenchmarkRow {
  /// Most rows need no statement counts.
  public var keepsStatements: Bool { false }

  /// As often as the settings say.
  public func runs(_ settings: BenchmarkSettings) -> Int { settings.runs }

  /// Nothing is shared but databases.
  public func clean(_ bench: Bench) async {}
}
