import Formatting

/// Where the endpoint takes the time of day from: tokens expire and months begin by it.
public struct EndpointClock: Sendable {
  let read: @Sendable () -> Double

  /// A clock that answers seconds since 1970, UTC.
  public init(_ read: @escaping @Sendable () -> Double) {
    self.read = read
  }

  /// The system's clock.
  public static let system = EndpointClock { UnixTime.now.secondsSince1970 }

  var now: Double { read() }
}
