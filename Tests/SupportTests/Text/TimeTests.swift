import Foundation
import Testing

@testable import Support

@Suite("Moments and dates")
struct TimeTests {
  @Test(
    "a time is shown with its zone's offset",
    arguments: [
      (0, 0, "1970-01-01T00:00:00+00:00"),
      (1_790_787_600, 7 * 3600, "2026-10-01T00:00:00+07:00"),
      (1_790_827_200, -4 * 3600, "2026-10-01T00:00:00-04:00"),
      (1_790_827_200, 20_700, "2026-10-01T09:45:00+05:45"),
      (1_790_827_200, -12_600, "2026-10-01T00:30:00-03:30"),
      (951_782_399, 0, "2000-02-28T23:59:59+00:00"),
      (951_868_799, 0, "2000-02-29T23:59:59+00:00"),
      (4_107_542_399, 0, "2100-02-28T23:59:59+00:00"),
      (-1, 0, "1969-12-31T23:59:59+00:00"),
    ] as [(Int64, Int64, String)])
  func offsets(seconds: Int64, offset: Int64, expected: String) {
    let time = LocalTime(microseconds: seconds * 1_000_000, local: (seconds + offset) * 1_000_000)
    #expect(time.text == expected)
  }

  @Test("every millisecond that a double holds is shown as it is")
  func milliseconds() {
    for second in [0, 1_742_646_896, 1_790_787_600, 4_107_542_399] {
      for millisecond in 0..<1000 {
        let digits = String(1000 + millisecond).dropFirst()
        let time = Double("\(second).\(digits)").map { UnixTime(secondsSince1970: $0).rfc3339 } ?? ""
        #expect(time.hasSuffix(".\(digits)Z"), "\(second).\(digits) is shown as \(time)")
      }
    }
  }

  @Test("the part below a second is dropped, before 1970 too")
  func fractions() {
    #expect(LocalTime(microseconds: 1_999_999, local: 1_999_999).text == "1970-01-01T00:00:01+00:00")
    #expect(LocalTime(microseconds: -1, local: -1).text == "1969-12-31T23:59:59+00:00")
    #expect(UnixTime(secondsSince1970: -0.25).rfc3339Seconds == "1969-12-31T23:59:59Z")
  }

  @Test(
    "a number that is no moment becomes the nearest that is",
    arguments: [Double.infinity, -.infinity, .nan, 1e20])
  func bounded(time: Double) {
    let text = UnixTime(secondsSince1970: time).rfc3339Seconds
    #expect(text == (time > 0 ? "9999-12-31T23:59:59Z" : "0001-01-01T00:00:00Z"))
  }

  @Test("every day of four centuries has the date that Foundation gives it, and the number that it came from")
  func dates() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    for day in stride(from: -36_525, to: 109_575, by: 13) {
      let parts = calendar.dateComponents(
        [.year, .month, .day, .weekday], from: Date(timeIntervalSince1970: Double(day) * 86_400))
      let date = CivilDate(number: day)
      #expect(
        [date.year, date.month, date.day, date.weekday + 1] == [
          parts.year, parts.month, parts.day, parts.weekday,
        ])
      #expect(CivilDate(year: date.year, month: date.month, day: date.day)?.number == day)
      #expect(
        UnixTime(seconds: Int64(day) * 86_400).rfc3339Seconds.prefix(10) == String(describing: text(date)))
      let next = date.startOfNextMonth
      #expect(next.day == 1 && next.number > day && next.number - day <= 31)
    }
  }

  private func text(_ date: CivilDate) -> String {
    "\(date.year)-\(date.month < 10 ? "0" : "")\(date.month)-\(date.day < 10 ? "0" : "")\(date.day)"
  }

  @Test(
    "a day that no month has is none",
    arguments: [(2025, 2, 29), (1900, 2, 29), (2025, 4, 31), (2025, 13, 1), (2025, 0, 1), (2025, 1, 0)])
  func noDay(year: Int, month: Int, day: Int) {
    #expect(CivilDate(year: year, month: month, day: day) == nil)
  }

  @Test("a written time says what is left out")
  func written() throws {
    let whole = try #require(WrittenTime("2025-03-22T19:34:56.5+07:00"))
    #expect(whole.secondsSince1970 == 1_742_646_896.5)
    #expect(whole.hasSeconds)
    let short = try #require(WrittenTime("2025-03-22 12:34Z"))
    #expect(!short.hasSeconds && short.secondsSince1970 == 1_742_646_840)
    let local = try #require(WrittenTime("2025-03-22T12:34:56"))
    #expect(local.offset == nil && local.secondsSince1970 == nil)
    #expect(WrittenTime("2025-03-22T12:34:56x") == nil)
  }
}
