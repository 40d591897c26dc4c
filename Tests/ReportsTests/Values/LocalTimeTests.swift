import Foundation
import Testing

@testable import Reports

@Suite("Local times")
struct LocalTimeTests {
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

  @Test("the part below a second is dropped, before 1970 too")
  func fractions() {
    #expect(LocalTime.utcText(microseconds: 1_999_999) == "1970-01-01T00:00:01Z")
    #expect(LocalTime.utcText(microseconds: -1) == "1969-12-31T23:59:59Z")
  }

  @Test("every day of four centuries has the date that Foundation gives it")
  func dates() {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    for day in stride(from: -36_525, to: 109_575, by: 13) {
      let parts = calendar.dateComponents(
        [.year, .month, .day], from: Date(timeIntervalSince1970: Double(day) * 86_400))
      let text = LocalTime.utcText(microseconds: Int64(day) * 86_400_000_000)
      let date = text.prefix(10).split(separator: "-").compactMap { Int($0) }
      #expect(date == [parts.year, parts.month, parts.day].compactMap(\.self))
    }
  }
}
