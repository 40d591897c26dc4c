/// How much is kept of what was fetched, and for how long.
public struct CacheSettings: Sendable, Equatable {
  /// The most bytes of images in memory.
  public var memoryBytes: Int
  /// For how long an image is kept at most; its host may ask for less.
  public var maximumAge: Duration

  /// Settings; every value left out is the default.
  public init(memoryBytes: Int = 64_000_000, maximumAge: Duration = .seconds(86_400)) {
    self.memoryBytes = memoryBytes
    self.maximumAge = maximumAge
  }
}
