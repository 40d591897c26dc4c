import Foundation
import Testing

@testable import CommandLineTool

@Suite("A text becomes a value, or is refused with the reason")
struct ValueFormatTests {
  func reason<Value>(_ format: ValueFormat<Value>, _ text: String) -> String? {
    do {
      _ = try format.parse(text)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test(
    "a length of time has its unit",
    arguments: [
      ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("5m", .seconds(300)),
      ("2h", .seconds(7200)),
      ("1d", .seconds(86400)), ("1h30m", .seconds(5400)), ("1m1s500ms", .milliseconds(61500)), ("0s", .zero),
    ])
  func duration(text: String, expected: Duration) throws {
    #expect(try ValueFormat.duration.parse(text) == expected)
    #expect(try ValueFormat.duration.parse(ValueFormat.duration.text(expected)) == expected)
  }

  @Test(
    "what is no length of time is refused",
    arguments: [
      "", "30", "s", "-5s", "5 s", "5x", "1m1h", "1s1s", "1.5s", "99999999999999999999s",
      "9223372036854775807d",
    ])
  func noDuration(text: String) {
    #expect(reason(.duration, text) != nil)
  }

  @Test("a length of time outside its range says what the range is")
  func durationRange() {
    #expect(reason(.duration(in: .seconds(1) ... .seconds(90)), "2m") == "is outside the range 1s to 1m30s")
  }

  @Test(
    "a size may have a unit of either kind",
    arguments: [
      ("512", 512), ("64KB", 64000), ("10MB", 10_000_000), ("64MiB", 67_108_864), ("1gib", 1_073_741_824),
      ("7B", 7),
    ])
  func size(text: String, expected: Int) throws {
    #expect(try ValueFormat.byteSize.parse(text) == expected)
    #expect(try ValueFormat.byteSize.parse(ValueFormat.byteSize.text(expected)) == expected)
  }

  @Test(
    "what is no size is refused",
    arguments: ["", "MB", "-1MB", "1.5MB", "10 MB", "10XB", "9000000000TiB", "+5"])
  func noSize(text: String) {
    #expect(reason(.byteSize, text) != nil)
  }

  @Test(
    "the default of a size is shown in the unit that fits",
    arguments: [(10_000_000, "10MB"), (65536, "64KiB"), (0, "0")])
  func sizeText(bytes: Int, text: String) {
    #expect(ValueFormat.byteSize.text(bytes) == text)
  }

  @Test(
    "a whole number is one",
    arguments: ["", "+5", "5.0", "0x10", "five", "5 ", "--5", "99999999999999999999"])
  func noInt(text: String) {
    #expect(reason(.int, text) != nil)
  }

  @Test("a number is finite and plain", arguments: ["nan", "inf", "0x1p3", "", "1e999", "2"])
  func noDouble(text: String) {
    #expect(reason(.double(in: 0...1), text) != nil)
  }

  @Test(
    "a moment is read with its zone",
    arguments: [
      ("2026-10-01T08:00:00Z", 1_790_841_600.0), ("2026-10-01T08:00:00.250+07:00", 1_790_816_400.25),
      ("2026-10-01 08:00:00-0430", 1_790_857_800.0), ("2024-02-29T23:59:59Z", 1_709_251_199.0),
      ("1970-01-01T00:00Z", 0.0), ("2000-02-29T00:00:00z", 951_782_400.0),
    ])
  func time(text: String, expected: Double) throws {
    #expect(try ValueFormat.time.parse(text).timeIntervalSince1970 == expected)
  }

  @Test("a moment agrees with another calendar on every day of sixty years")
  func calendar() throws {
    for day in stride(from: 0, to: 60 * 366, by: 1) {
      let date = Date(timeIntervalSince1970: Double(day) * 86400)
      #expect(try ValueFormat.time.parse(date.formatted(.iso8601)) == date)
    }
  }

  @Test(
    "what is no moment is refused",
    arguments: [
      "", "2026-10-01", "2026-10-01T08:00:00", "2026-13-01T08:00:00Z", "2026-02-29T08:00:00Z",
      "2026-10-01T24:00:00Z",
      "2026-10-01T08:60:00Z", "2026-10-01T08:00:00.Z", "2026-10-01T08:00:00Zx", "2026-10-01T08:00:00+7",
      "tomorrow",
      "2026-10-1T08:00:00Z", "1900-01-01T00:00:00Z",
    ])
  func noTime(text: String) {
    #expect(reason(.time, text) != nil)
  }

  @Test("a moment without a zone says what to add")
  func zoneMissing() {
    #expect(
      reason(.time, "2026-10-01T08:00:00") == "has no zone; add Z for UTC or an offset such as +07:00")
  }

  @Test(
    "a month is checked",
    arguments: ["2026-00", "2026-13", "2026-1", "26-10", "2026/10", "2026-10-01", "２０２６-10", ""])
  func noMonth(text: String) {
    #expect(reason(.month, text) != nil)
    #expect(reason(.month, "2026-12") == nil)
  }

  @Test("a path is not empty and holds no NUL")
  func path() {
    #expect(reason(.path, "") == "is empty")
    #expect(reason(.path, "a\0b") == "holds a NUL character")
  }

  @Test("a format may be given one more condition")
  func refined() {
    let even = ValueFormat.int.refined { $0.isMultiple(of: 2) ? nil : "is odd" }
    #expect(reason(even, "3") == "is odd")
    #expect(reason(even, "4") == nil)
  }
}
