/// How many calls may be in flight, as the files and sockets that the process may have open allow.
public enum DescriptorBudget {
  /// What a worker has open beside its calls: the loop, signals, standard input and output, the database's
  /// connections and those that replace them, logins, name lookups, and files that are read at times.
  public static let besideCalls = 32

  /// How many sockets there is room for beside that.
  ///
  /// - Parameter limit: How many files and sockets may be open.
  /// - Throws: A `WorkerError` when there is not room for one.
  public static func calls(limit: Int) throws(WorkerError) -> Int {
    guard limit > besideCalls else {
      throw WorkerError(
        """
        This process may have only \(limit) files and sockets open; a worker needs \(besideCalls), and one more \
        for each call in flight. Raise the limit (LimitNOFILE in the unit, ulimit -n in a shell).
        """, kind: .configuration)
    }
    return limit - besideCalls
  }
}
