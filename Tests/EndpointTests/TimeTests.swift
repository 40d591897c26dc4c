import Testing

@testable import Endpoint
@testable import Support

@Suite("Times")
struct TimeTests {
  private func timestamp(_ value: JSONValue) throws -> Double? {
    AnswerTime.read(try JSONReader.read(value.bytes))
  }

  @Test(
    "are read with and without a fraction and with any offset",
    arguments: [
      ("2025-03-22T12:34:56.789Z", 1_742_646_896.789), ("2025-03-22T12:34:56Z", 1_742_646_896),
      ("2025-03-22T12:34:56.5Z", 1_742_646_896.5),
      ("2025-03-22T12:34:56.123456789Z", 1_742_646_896.123456789),
      ("2025-03-22T19:34:56+07:00", 1_742_646_896), ("2025-03-22T19:34:56+0700", 1_742_646_896),
      ("2025-03-22T07:04:56-05:30", 1_742_646_896), ("2025-03-22t12:34:56z", 1_742_646_896),
      ("2025-03-22 12:34:56Z", 1_742_646_896), ("1970-01-01T00:00:00Z", 0),
      ("2024-02-29T00:00:00Z", 1_709_164_800),
      ("2000-02-29T23:59:59Z", 951_868_799), ("2016-12-31T23:59:60Z", 1_483_228_800),
    ])
  func valid(text: String, time: Double) throws {
    let read = try #require(try timestamp(.string(text)))
    #expect(abs(read - time) < 1e-6)
  }

  @Test(
    "that are not whole, exist on no calendar or lack their zone are not read as some other time",
    arguments: [
      "", "now", "2025-03-22", "2025-03-22T12:34Z", "2025-03-22T12:34:56", "2025-03-22T12:34:56.Z",
      "2025-13-01T00:00:00Z", "2025-00-01T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
      "2025-04-31T00:00:00Z", "2025-03-22T24:00:00Z", "2025-03-22T12:60:00Z", "2025-03-22T12:34:61Z",
      "2025-03-22T12:34:56Z ", " 2025-03-22T12:34:56Z", "2025-03-22T12:34:56+7", "1742646896",
      "1969-12-31T23:59:59Z",
      "12025-03-22T12:34:56Z", "2025-3-22T12:34:56Z", "٢٠٢٥-03-22T12:34:56Z",
    ])
  func invalid(text: String) throws {
    #expect(try timestamp(.string(text)) == nil)
  }

  @Test("are read as seconds since 1970, not as milliseconds")
  func numbers() throws {
    #expect(try timestamp(.number(1_742_646_896.25)) == 1_742_646_896.25)
    #expect(try timestamp(.number(0)) == 0)
    #expect(try timestamp(.number(1_742_646_896_789)) == nil)
    #expect(try timestamp(.number(-1)) == nil)
    #expect(try timestamp(.bool(true)) == nil)
  }

  @Test(
    "of Retry-After are seconds or one of the three dates of HTTP",
    arguments: [
      ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
      ("Sun Nov  6 08:49:37 1994", 37), ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
      ("99999999999999999999999", 1e23),
    ] as [(String, Double)])
  func retryAfter(text: String, seconds: Double) throws {
    let now = 784_111_740.0  // 1994-11-06 08:49:00
    let read = try #require(RetryAfter.seconds(text, now: now))
    #expect(abs(read - seconds) <= seconds * 1e-9)
  }

  @Test(
    "of Retry-After that are neither are not there",
    arguments: [
      "", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37", "06 Nov 1994 08:49:37 GMT",
      "Sun, 31 Feb 1994 08:49:37 GMT", "٣",
    ])
  func badRetryAfter(text: String) {
    #expect(RetryAfter.seconds(text, now: 0) == nil)
  }

  @Test(
    "give the beginning of the next month",
    arguments: [
      ("2025-03-22T12:34:56Z", "2025-04-01T00:00:00Z"), ("2025-12-31T23:59:59.999Z", "2026-01-01T00:00:00Z"),
      ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"), ("2024-02-29T12:00:00Z", "2024-03-01T00:00:00Z"),
      ("2025-02-28T12:00:00Z", "2025-03-01T00:00:00Z"), ("2000-01-31T00:00:00Z", "2000-02-01T00:00:00Z"),
    ])
  func nextMonth(time: String, next: String) throws {
    let time = try #require(AnswerTime.iso8601(time))
    let date = UnixTime(secondsSince1970: time).date.startOfNextMonth
    #expect(Double(date.number * 86_400) == AnswerTime.iso8601(next))
  }

  @Test(
    "The end of a certificate is read as the TLS libraries write it",
    arguments: [
      ("Nov  6 08:49:37 1994 GMT", 784_111_777.0), ("Nov 16 08:49:37 1994 GMT", 784_975_777),
      ("1994-11-06 08:49:37 GMT", 784_111_777), ("Nov  6 08:49:37 1994", nil), ("never", nil), ("", nil),
    ] as [(String, Double?)])
  func certificateEnd(text: String, seconds: Double?) {
    #expect(CertificateDate.seconds(text) == seconds)
  }
}
