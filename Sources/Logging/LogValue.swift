/// A field's value in a log line.
public enum LogValue: Sendable, Equatable {
  /// A text; bounded, and stripped of control characters when written.
  case string(String)
  /// A whole number.
  case int(Int64)
  /// A number; one that is not finite is written as text.
  case double(Double)
  /// Yes or no.
  case bool(Bool)
  /// A length of time; written in milliseconds, under the field's name with `_ms`.
  case duration(Duration)

  /// Any whole number; one beyond 64 bits is clamped.
  public static func count(_ number: some BinaryInteger) -> LogValue {
    .int(Int64(clamping: number))
  }

  /// An error by its description, which must carry no secret.
  public static func error(_ error: any Error) -> LogValue {
    .string(String(describing: error))
  }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
  /// A text.
  public init(stringLiteral text: String) { self = .string(text) }
  /// A whole number.
  public init(integerLiteral number: Int64) { self = .int(number) }
  /// A number.
  public init(floatLiteral number: Double) { self = .double(number) }
  /// Yes or no.
  public init(booleanLiteral flag: Bool) { self = .bool(flag) }
}
