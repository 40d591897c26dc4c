internal import Images
public import PostgreSQL
public import Queue
public import Support

/// What a worker process is to do.
public struct WorkerConfiguration: Sendable {
  /// Where the queue is.
  public var database: ConnectionConfiguration
  /// The types of analysis that are taken on.
  public var kinds: [AnalysisKind] = AnalysisKind.allCases
  /// How many calls may be in flight at once.
  public var concurrency = 64
  /// How many jobs are claimed, with their images read, beyond those in flight, so that an answered call
  /// is followed by the next without a round trip.
  public var prefetch = 64
  /// How many jobs one claim takes at most.
  var claimSize = 100
  /// How many bytes of images may be held or on their way from the database.
  public var imageBytes = 128 << 20
  /// How long a lease is held without a sign of life of its worker.
  var leaseDuration: Duration = .seconds(15)
  /// How often a worker gives that sign.
  var heartbeat: Duration = .seconds(5)
  /// The time that one call may take from its start to the last byte of the answer.
  public var callDeadline: Duration = .seconds(120)
  /// The time that one statement may take; a frozen server shows no error of its own. As long as a lease, so that a worker is
  /// with the server that took over when the frozen one's jobs come back.
  var statementDeadline: Duration = .seconds(15)
  /// How long after a stop was asked for calls in flight may finish.
  public var grace: Duration = .seconds(25)
  /// The time that each of the statements may take by which a worker records at its very end that it was there: a
  /// courtesy, for which a service manager that has waited for `grace` must not be kept waiting.
  var shutdownGrace: Duration = .seconds(2)
  /// Sets how long a lease is held, and with it the heartbeat: thrice a lease, so that two may be lost, and every five
  /// seconds at least, since who looks at the queue takes a worker for lost after fifteen (`analysis.worker_lives`).
  public mutating func hold(leases duration: Duration) {
    leaseDuration = duration
    heartbeat = min(duration / 3, .seconds(5))
    rescueEvery = min(rescueEvery, duration)
  }

  /// How often an idle worker looks for jobs when nothing wakes it.
  public var idlePoll: Duration = .seconds(1)
  /// Outcomes are stored together: at this many, after `flushDelay`, or when no other job is held, whichever
  /// comes first.
  var flushCount = 100
  /// The longest that an outcome waits for others. What is not stored yet is called for again when the worker is
  /// killed.
  var flushDelay: Duration = .milliseconds(50)
  /// How often lost leases are looked for.
  var rescueEvery: Duration = .seconds(5)
  /// How often scheduled jobs that are due, refunds and scan marks are seen to.
  var promoteEvery: Duration = .seconds(1)
  /// Whether to listen for wake-ups; behind a pooler in transaction mode they are not heard, and polling
  /// alone remains.
  public var listens = true
  /// Whether whoever listens is notified of ended jobs.
  public var notifiesEnded = false
  /// Stop when nothing can run within this time; nil to run until told to stop.
  public var drainHorizon: Duration?
  /// The keys for encrypted images; without them the jobs of such images wait.
  public var imageKeys: ImageKeys?
  /// The object store in which images are; without it the jobs of such images wait. Whoever gives it closes it.
  public var imageStore: ImageStore?
  /// How often a store is asked again that refuses what is asked of it.
  var storeProbe: Duration = .seconds(30)
  /// Whether a job whose image is in plaintext is dead, and nothing of it is sent.
  public var requiresEncryption = false
  /// How long a job at least waits whose image's key is not here.
  var keyWait: Duration = .seconds(60)
  /// What cleans images that came in by SQL.
  var imageDecoders = ImageDecoders()
  /// How webhooks receive ended jobs; it needs the image keys, under which their secrets are.
  public var webhooks = WebhookSettings()
  /// When and how failed attempts are tried again.
  var retryPolicy = RetryPolicy()

  /// A configuration with every default.
  public init(database: ConnectionConfiguration) {
    self.database = database
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
