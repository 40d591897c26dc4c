/// A job's number. Written as text wherever JSON is made, since it may be larger than the whole numbers
/// that JavaScript can hold.
public struct JobID: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The number.
  public let value: Int64

  /// The id with a number.
  public init(_ value: Int64) {
    self.value = value
  }

  /// Reads a positive decimal number; nil for anything else.
  public init?(_ text: String) {
    guard let value = Int64(text), value > 0 else { return nil }
    self.value = value
  }

  /// The number in decimal.
  public var description: String { String(value) }

  /// Orders by number.
  public static func < (left: JobID, right: JobID) -> Bool {
    left.value < right.value
  }
}
