/// How moments and lengths of time are shown.
public enum Moment {
  /// The years 1 to 9999; outside there is no RFC 3339.
  private static let writable = -62_135_596_800.0..<253_402_300_800.0

  /// `2026-10-01T08:00:00.250Z`; nil for the infinities.
  public static func exact(_ seconds: Double) -> String? {
    guard writable.contains(seconds) else { return nil }
    return UnixTime(secondsSince1970: seconds).rfc3339
  }

  /// `2026-10-01 08:00:00Z`, or an empty text.
  public static func short(_ seconds: Double?) -> String {
    guard let text = seconds.flatMap(exact) else { return "" }
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + "Z"
  }

  /// `3 s`, `12 min`, `5 h`, `2 d`: the largest unit of which there are at least two, rounded down.
  public static func age(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, abs(seconds) < 1e15 else { return "" }
    let whole = max(0, Int(seconds))
    for (unit, length) in [("d", 86_400), ("h", 3_600), ("min", 60)] where whole >= 2 * length {
      return "\(whole / length) \(unit)"
    }
    return "\(whole) s"
  }
}
