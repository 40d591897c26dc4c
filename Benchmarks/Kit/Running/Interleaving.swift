/// The order in which contenders are run.
public enum Interleaving {
  /// Each of so many contenders once a round, so that a machine that grows slower meanwhile is slower for all alike.
  ///
  /// - Returns: Places among the contenders, in the order of their runs.
  public static func order(contenders: Int, runs: Int) -> [(run: Int, contender: Int)] {
    (0..<max(runs, 0)).flatMap { run in (0..<max(contenders, 0)).map { (run: run, contender: $0) } }
  }
}
