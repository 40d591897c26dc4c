import PostgreSQL
import Testing

@Suite("A timestamp")
struct TimestampTests {
  @Test(
    "is Unix time to the microsecond",
    arguments: [
      (0.0, -946_684_800_000_000), (946_684_800, 0), (946_684_799.5, -500_000), (946_684_800.000001, 1),
      (1_792_000_000.123456, 845_315_200_123_456), (-1.25, -946_684_801_250_000),
      (253_402_300_799.5, 252_455_615_999_500_000),
    ] as [(Double, Int64)])
  func conversion(seconds: Double, microseconds: Int64) {
    let timestamp = Timestamp(secondsSince1970: seconds)
    #expect(timestamp.microsecondsSince2000 == microseconds)
    #expect(abs(timestamp.secondsSince1970 - seconds) < 1e-6 || abs(seconds) > 1e10)
    #expect(timestamp.isFinite)
  }

  @Test(
    "that cannot be held is an infinity",
    arguments: [
      (Double.infinity, Timestamp.infinity), (-.infinity, .negativeInfinity), (1e300, .infinity),
      (-1e300, .negativeInfinity), (1e18, .infinity), (.nan, .negativeInfinity),
    ])
  func infinities(seconds: Double, timestamp: Timestamp) {
    #expect(Timestamp(secondsSince1970: seconds) == timestamp)
    #expect(!timestamp.isFinite)
  }

  @Test("comes after an earlier one")
  func order() {
    let moment = Timestamp(microsecondsSince2000: 0)
    #expect(Timestamp.negativeInfinity < moment && moment < .infinity)
    #expect(Timestamp.infinity.secondsSince1970 == .infinity)
    #expect(Timestamp.negativeInfinity.secondsSince1970 == -.infinity)
  }
}
