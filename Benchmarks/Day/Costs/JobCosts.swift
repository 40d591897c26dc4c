/// What one job costs, as it was measured.
///
/// The costs are those of the measuring machine's processors; another machine's may be faster or slower.
public struct JobCosts: Sendable, Equatable, Codable {
  /// Where the images' bytes lie.
  public enum Images: String, Sendable, CaseIterable, Codable {
    /// In the database: they go through its log, and come and go by the server's network.
    case database
    /// In an object store: the database knows only their names.
    case objects
  }

  /// How jobs are submitted.
  public enum Submits: String, Sendable, CaseIterable, Codable {
    /// One a call, each committed, as a back-end does for a photo that has just come.
    case one
    /// Many a call, as a batch customer does.
    case bulk
  }

  /// What one job costs the database server in one step of its life.
  public struct Part: Sendable, Equatable, Codable {
    /// Seconds of the server's processors, user and system.
    public var serverSeconds: Double
    /// Bytes of write-ahead log.
    public var logBytes: Double

    /// A cost, in seconds and bytes.
    public init(serverSeconds: Double, logBytes: Double) {
      self.serverSeconds = serverSeconds
      self.logBytes = logBytes
    }
  }

  /// From the call of `submit` to the waiting job.
  public var submit: Part
  /// From the claim to the stored result.
  public var work: Part
  /// Seconds of a worker's processor, user and system.
  public var workerSeconds: Double
  /// Transactions of the worker, each a round trip at most; nil when they were not counted.
  public var transactions: Double?
  /// Seconds of the object store's processors, to write an image and to read it; nil where there is none. They are those
  /// of the store that was measured: rclone's, in memory.
  public var storeSeconds: Double?
  /// Bytes of an image.
  public var imageBytes: Double
  /// Where the images lie.
  public var images: Images
  /// The rows and contenders of the results that the figures are from.
  public var sources: [String]

  /// Costs that are known.
  public init(
    submit: Part, work: Part, workerSeconds: Double, transactions: Double? = nil,
    storeSeconds: Double? = nil, imageBytes: Double, images: Images, sources: [String] = []
  ) {
    self.submit = submit
    self.work = work
    self.workerSeconds = workerSeconds
    self.transactions = transactions
    self.storeSeconds = storeSeconds
    self.imageBytes = imageBytes
    self.images = images
    self.sources = sources
  }
}
