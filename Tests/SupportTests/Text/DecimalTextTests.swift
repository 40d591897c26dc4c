import Testing

@testable import Support

@Suite("Decimal digits")
struct DecimalTextTests {
  @Test(
    "A number as PostgreSQL writes it is kept digit for digit",
    arguments: [("0", 0), ("12.00", 2), ("-0.50", 2), ("123456789012345678901234567890.125", 3), ("007", 0)])
  func numbers(text: String, digits: Int) {
    #expect(DecimalText(text)?.description == text)
    #expect(DecimalText(text)?.fractionDigits == digits)
  }

  @Test(
    "Anything else is none",
    arguments: ["", "-", ".", ".5", "5.", "1e3", "NaN", "Infinity", "+1", "1,5", " 1", "1.2.3", "--1", "٣"])
  func others(text: String) {
    #expect(DecimalText(text) == nil)
  }

  @Test(
    "A binary number is given where it shows the same digits",
    arguments: [
      ("0.10", 0.1), ("-1.50", -1.5), ("999999999999.999", 999_999_999_999.999), ("0.0000000001", 1e-10),
    ])
  func doubles(text: String, double: Double) {
    #expect(DecimalText(text)?.double == double)
  }

  @Test("It is not given for more than 15 digits")
  func tooLong() throws {
    #expect(try #require(DecimalText("1234567890123456")).double == nil)
    #expect(try #require(DecimalText("12345678901234.56")).double == nil)
  }
}

@Suite("A local time")
struct LocalTimeTests {
  @Test(
    "It is as short as it can be read",
    arguments: [
      (0, "2026-10-15"), (52_200, "2026-10-15 14:30"), (52_201, "2026-10-15 14:30:01"),
      (1, "2026-10-15 00:00:01"),
    ])
  func short(second: Int64, text: String) throws {
    let day = Int64(try #require(CivilDate(year: 2026, month: 10, day: 15)).number) * 86_400
    let local = (day + second) * 1_000_000
    let time = LocalTime(microseconds: local - 7 * 3_600_000_000, local: local)
    #expect(time.short == text)
    #expect(time.date == CivilDate(year: 2026, month: 10, day: 15))
    #expect(time.secondOfDay == Int(second))
  }
}
