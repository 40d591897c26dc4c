/// A moment, as `timestamptz` keeps it: whole microseconds, and the two infinities.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Microseconds since 2000-01-01 00:00 UTC; the extremes stand for the infinities.
  public var microsecondsSince2000: Int64

  /// 2000-01-01 00:00 UTC in seconds since 1970.
  private static let epoch: Int64 = 946_684_800

  /// A moment by PostgreSQL's own count.
  public init(microsecondsSince2000: Int64) {
    self.microsecondsSince2000 = microsecondsSince2000
  }

  /// A moment by Unix time, rounded to the microsecond.
  ///
  /// What lies outside the range of `Int64` becomes an infinity; what is not a number, minus infinity.
  public init(secondsSince1970 seconds: Double) {
    let whole = seconds.rounded(.down)
    guard let count = Int64(exactly: whole), abs(count) < Int64.max / 2_000_000 else {
      self = seconds > 0 ? .infinity : .negativeInfinity
      return
    }
    let fraction = Int64(((seconds - whole) * 1_000_000).rounded())
    microsecondsSince2000 = (count - Timestamp.epoch) * 1_000_000 + fraction
  }

  /// Unix time in seconds; a double holds today's times to better than a microsecond.
  public var secondsSince1970: Double {
    if self == .infinity { return .infinity }
    if self == .negativeInfinity { return -.infinity }
    let (seconds, rest) = microsecondsSince2000.quotientAndRemainder(dividingBy: 1_000_000)
    return Double(seconds + Timestamp.epoch) + Double(rest) / 1_000_000
  }

  /// Unix time in microseconds, of a moment that is not an infinity.
  public var microsecondsSince1970: Int64 { microsecondsSince2000 + Timestamp.epoch * 1_000_000 }

  /// Later than every other.
  public static let infinity = Timestamp(microsecondsSince2000: .max)
  /// Earlier than every other.
  public static let negativeInfinity = Timestamp(microsecondsSince2000: .min)

  /// Whether it is a moment and not an infinity.
  public var isFinite: Bool { self != .infinity && self != .negativeInfinity }

  /// Whether the one comes before the other.
  public static func < (earlier: Timestamp, later: Timestamp) -> Bool {
    earlier.microsecondsSince2000 < later.microsecondsSince2000
  }
}

extension Timestamp: SQLScalar {
  /// The type `timestamptz`.
  public static var oid: UInt32 { OID.timestamptz }
  /// The type `timestamptz[]`.
  public static var arrayOID: UInt32 { OID.timestamptzArray }

  /// Reads `timestamptz`, and `timestamp` as though it were UTC.
  public static func accepts(_ oid: UInt32) -> Bool { oid == OID.timestamptz || oid == OID.timestamp }

  /// Reads eight bytes.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    guard bytes.count == 8, let value = bytes.bigEndian(Int64.self) else { return nil }
    self.init(microsecondsSince2000: value)
  }

  /// Appends eight bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(microsecondsSince2000)
  }
}
