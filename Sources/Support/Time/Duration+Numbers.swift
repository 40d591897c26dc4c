/// Lengths of time as numbers: the one place where they are taken apart.
extension Duration {
  /// Seconds with their fraction.
  public var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

  /// Whole milliseconds, rounded towards zero and bounded by what the number can hold.
  public var milliseconds: Int64 { whole(1_000) }

  /// Whole milliseconds, rounded up, so that a wait of so many is never too short.
  public var millisecondsRoundedUp: Int64 {
    let whole = milliseconds
    return whole < .max && self > .milliseconds(whole) ? whole + 1 : whole
  }

  /// Whole microseconds, rounded towards zero and bounded by what the number can hold.
  public var microseconds: Int64 { whole(1_000_000) }

  /// Whole nanoseconds, rounded towards zero and bounded by what the number can hold.
  var nanoseconds: Int64 { whole(1_000_000_000) }

  private func whole(_ parts: Int64) -> Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: parts)
    let (sum, carried) = whole.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / parts))
    return overflow || carried ? (seconds < 0 ? .min : .max) : sum
  }
}
