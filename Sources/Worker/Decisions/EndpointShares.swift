/// How something that a process has so much of (calls in flight, jobs held, bytes of images) is shared by the
/// endpoints that it calls.
///
/// Each endpoint has half of its equal share to itself, however much the others could use: one that hangs holds
/// what it has for as long as a call may take, and must not hold up the others meanwhile. The other half goes to
/// whoever asks first. A single endpoint has everything.
struct EndpointShares: Equatable {
  /// How much there is.
  let total: Int
  /// How many endpoints share it.
  let endpoints: Int

  /// What each endpoint has to itself; nothing when there is less than one for each.
  var floor: Int {
    guard endpoints > 1 else { return total }
    return max(min(1, total / endpoints), total / (2 * endpoints))
  }

  /// How much more an endpoint may take.
  ///
  /// - Parameters:
  ///   - index: Which endpoint asks.
  ///   - used: What each of them has; asked for each, so that nothing has to be gathered for a question that every
  ///     call asks several times.
  func allowance(of index: Int, used: (Int) -> Int) -> Int {
    var kept = used(index)
    for other in 0..<endpoints where other != index { kept += max(used(other), floor) }
    return max(0, total - kept)
  }
}

/// How many calls may be in flight, as the files and sockets that the process may have open allow.
public enum DescriptorBudget {
  /// What a worker has open beside its calls: the loops, signals, standard input and output, the database's
  /// connections and those that replace them, logins, name lookups, decoders of images, and files that are read at
  /// times.
  static let besideCalls = 40

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
