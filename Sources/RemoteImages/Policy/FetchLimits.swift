public import AnalysisCore

/// What a fetch may take.
public struct FetchLimits: Sendable, Equatable {
  /// The most bytes of an image: as many as a submitted file may have.
  public var bytes: Int
  /// How long looking the name up may take, and then connecting with TLS.
  public var connect: Duration
  /// How long all of a fetch may take, from its turn on.
  public var whole: Duration
  /// How many are fetched at once; the others wait for their turn.
  public var atOnce: Int

  /// Limits; every value left out is the default.
  public init(
    bytes: Int = ImageSize.maximum, connect: Duration = .seconds(5), whole: Duration = .seconds(30),
    atOnce: Int = 8
  ) {
    self.bytes = bytes
    self.connect = connect
    self.whole = whole
    self.atOnce = max(1, atOnce)
  }
}
