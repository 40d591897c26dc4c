import TestSupport
import Testing

@testable import Support

@Suite("Lengths of time as numbers")
struct DurationTests {
  @Test(
    "are whole, rounded as they say",
    arguments: [
      (Duration.zero, 0, 0, 0), (.microseconds(1), 0, 1, 1), (.microseconds(1_999), 1, 2, 1_999),
      (.milliseconds(2), 2, 2, 2_000), (.seconds(3) + .nanoseconds(1_000), 3_000, 3_001, 3_000_001),
      (.microseconds(-1_500), -1, -1, -1_500),
      (.seconds(Int64.max / 2), Int64.max, Int64.max, Int64.max),
      (.seconds(Int64.min / 2), Int64.min, Int64.min, Int64.min),
    ] as [(Duration, Int64, Int64, Int64)])
  func whole(duration: Duration, milliseconds: Int64, roundedUp: Int64, microseconds: Int64) {
    #expect(duration.milliseconds == milliseconds)
    #expect(duration.millisecondsRoundedUp == roundedUp)
    #expect(duration.microseconds == microseconds)
  }

  @Test("have a fraction as seconds")
  func seconds() {
    #expect(Duration.milliseconds(1_250).inSeconds == 1.25)
    #expect(Duration.milliseconds(-250).inSeconds == -0.25)
  }

  @Test("are taken apart in one file of the sources only")
  func onePlace() throws {
    #expect(try sources(with: "attoseconds") == ["Support/Time/CivilDate.swift"])
  }
}
