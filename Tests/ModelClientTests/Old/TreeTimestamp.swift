import Formatting

@testable import ModelClient

enum TreeTimestamp {
  /// From 1970 up to the end of the year 9999; milliseconds taken for seconds lie far beyond it.
  private static let range = 0.0..<253_402_300_800.0

  /// Reads a text (ISO 8601 with its zone, with or without a fraction) or a number (seconds since 1970).
  ///
  /// Anything else is nil, never the present time.
  static func read(_ value: JSONValue) -> Double? {
    let time: Double? =
      switch value {
      case .string(let text): iso8601(text)
      case .number(let number): number
      default: nil
      }
    guard let time, range.contains(time) else { return nil }
    return time
  }

  /// A text with its seconds and its zone.
  static func iso8601(_ text: String) -> Double? {
    guard let time = WrittenTime(text), time.hasSeconds else { return nil }
    return time.secondsSince1970
  }
}
