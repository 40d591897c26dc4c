/// A moment split into its UTC calendar fields, and the two spellings the endpoint answers with.
struct CalendarTime {
  let year: Int
  let month: Int
  let day: Int
  let hour: Int
  let minute: Int
  let second: Int
  let millisecond: Int
  /// 0 is Sunday.
  let weekday: Int

  /// - Parameter time: seconds since 1970.
  init(_ time: Double) {
    let milliseconds = Int((time * 1000).rounded(.down))
    let seconds = milliseconds.flooredQuotient(1000)
    millisecond = milliseconds - seconds * 1000
    let days = seconds.flooredQuotient(86400)
    let clock = seconds - days * 86400
    hour = clock / 3600
    minute = clock / 60 % 60
    second = clock % 60
    weekday = (days + 4) - (days + 4).flooredQuotient(7) * 7
    // Days since 0000-03-01, so that the leap day is the last of its year, in eras of 400 years.
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// `2025-03-22T12:34:56.789Z`.
  var iso8601: String {
    "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(clockText).\(padded(millisecond, 3))Z"
  }

  /// `Sat, 22 Mar 2025 12:34:56 GMT`, the form of HTTP headers.
  var httpDate: String {
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return "\(days[weekday]), \(padded(day, 2)) \(months[month - 1]) \(padded(year, 4)) \(clockText) GMT"
  }

  /// Months since year 0: two moments with the same number are in the same calendar month.
  var monthNumber: Int { year * 12 + month - 1 }

  private var clockText: String { "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))" }

  private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Int {
  fileprivate func flooredQuotient(_ divisor: Int) -> Int {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
