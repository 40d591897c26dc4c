/// A moment and how clocks in a zone show it, both as the database computed them.
public struct LocalTime: Equatable, Sendable {
  /// Whole seconds since 1970 in UTC.
  public let seconds: Int64
  /// What the zone's clocks show, as if it were seconds since 1970 in UTC.
  public let local: Int64

  /// A moment and its local time in microseconds, of which the part below a second is dropped.
  public init(microseconds: Int64, local localMicroseconds: Int64) {
    seconds = microseconds.dividedDown(by: 1_000_000).quotient
    local = localMicroseconds.dividedDown(by: 1_000_000).quotient
  }

  /// The local time with its offset as ISO 8601 has it, for instance `2026-10-01T00:00:00+07:00`. An
  /// offset of odd seconds, as before the age of zones, is shown to the minute.
  public var text: String {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends that text.
  public func append(to bytes: inout [UInt8]) {
    Self.appendClock(local, to: &bytes)
    let offset = (local - seconds) / 60
    let magnitude = abs(offset)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 6) { text in
      text[0] = offset < 0 ? 0x2D : 0x2B
      Self.two(magnitude / 60, into: text, at: 1)
      text[3] = 0x3A
      Self.two(magnitude % 60, into: text, at: 4)
      bytes.append(contentsOf: text)
    }
  }

  /// Appends date and time, for instance `2026-10-01T00:00:00`; a year has at least four digits.
  static func appendClock(_ seconds: Int64, to bytes: inout [UInt8]) {
    let (days, second) = seconds.dividedDown(by: 86_400)
    let date = CivilDate(number: Int(days))
    let year = String(date.year.magnitude)
    if date.year < 0 { bytes.append(0x2D) }
    for _ in year.utf8.count..<max(4, year.utf8.count) { bytes.append(0x30) }
    bytes.append(contentsOf: year.utf8)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 15) { text in
      text[0] = 0x2D
      two(Int64(date.month), into: text, at: 1)
      text[3] = 0x2D
      two(Int64(date.day), into: text, at: 4)
      text[6] = 0x54
      two(second / 3600, into: text, at: 7)
      text[9] = 0x3A
      two(second / 60 % 60, into: text, at: 10)
      text[12] = 0x3A
      two(second % 60, into: text, at: 13)
      bytes.append(contentsOf: text)
    }
  }

  /// Two digits of a number below 100.
  private static func two(_ number: Int64, into text: UnsafeMutableBufferPointer<UInt8>, at index: Int) {
    text[index] = UInt8(truncatingIfNeeded: number / 10) + 0x30
    text[index + 1] = UInt8(truncatingIfNeeded: number % 10) + 0x30
  }
}
