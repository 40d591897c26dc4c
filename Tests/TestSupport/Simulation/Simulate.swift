public import Support

/// Runs a history of a decision for each of many seeds, under a clock that the history itself moves.
///
/// The first history that breaks a rule ends the run. Its error names the seed, and how to run that one
/// alone: the environment variable `ANALYSIS_SIMULATION_SEED`, which is a seed, or a range such as
/// `5000-90000` to search further than the test does.
///
/// - Parameters:
///   - histories: How many seeds, from 1, unless the variable names others.
///   - history: Draws what happens from the generator, and throws when a rule is broken.
/// - Throws: ``BrokenHistory``.
public func simulate(
  _ histories: Int, _ history: (inout SeededGenerator) throws -> Void
) throws {
  for seed in try SimulationSeeds.chosen() ?? 1...UInt64(histories) {
    var generator = SeededGenerator(seed: seed)
    do { try history(&generator) } catch { throw BrokenHistory(seed: seed, cause: error) }
  }
}

/// States a rule within a history.
///
/// Histories look at hundreds of thousands of states, for each of which an expectation would be too slow.
/// - Throws: ``BrokenRule`` unless the condition holds.
public func hold(_ condition: Bool, _ rule: @autoclosure () -> String) throws {
  if !condition { throw BrokenRule(rule()) }
}

/// A rule that did not hold.
public struct BrokenRule: Error, CustomStringConvertible {
  /// Which, and what was the case instead.
  public let description: String

  /// A rule in words.
  public init(_ description: String) {
    self.description = description
  }
}

/// A history in which something went wrong.
public struct BrokenHistory: Error, CustomStringConvertible {
  /// What the history was drawn from.
  public let seed: UInt64
  /// What went wrong.
  public let cause: any Error

  /// A history by its seed.
  public init(seed: UInt64, cause: any Error) {
    self.seed = seed
    self.cause = cause
  }

  /// The cause, the seed, and how to see it again.
  public var description: String {
    "\(cause) (seed \(seed); set ANALYSIS_SIMULATION_SEED=\(seed) to run this history alone)"
  }
}
