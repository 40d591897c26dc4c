public import FoundationEssentials

extension ValueFormat where Value == Date {
  /// A moment in ISO 8601 with its zone: `2026-10-01T08:00:00Z`, `2026-10-01T08:00:00.250+07:00`.
  /// A text without a zone is refused, because a month's bill may hang on it.
  public static var time: Self {
    ValueFormat(
      name: "TIME",
      parse: { (given: String) throws(ValueError) -> Date in
        var reader = MomentReader(given)
        return Date(timeIntervalSince1970: try reader.secondsSince1970())
      },
      text: { $0.formatted(.iso8601) })
  }
}
