import Formatting
public import FoundationEssentials

extension ValueFormat where Value == Date {
  /// A moment in ISO 8601 with its zone: `2026-10-01T08:00:00Z`, `2026-10-01T08:00:00.250+07:00`.
  /// A text without a zone is refused, because a month's bill may hang on it.
  public static var time: Self {
    ValueFormat(
      name: "TIME",
      parse: { (given: String) throws(ValueError) -> Date in
        guard let time = WrittenTime(given), time.date.year >= 1970 else {
          throw ValueError(
            "is not a time; write it as 2026-10-01T08:00:00Z, or with an offset such as +07:00 for the Z")
        }
        guard let seconds = time.secondsSince1970 else {
          throw ValueError("has no zone; add Z for UTC or an offset such as +07:00")
        }
        return Date(timeIntervalSince1970: seconds)
      },
      text: { $0.formatted(.iso8601) })
  }
}
