/// Days of the proleptic Gregorian calendar, in UTC. Years are counted from March, so that the leap day is
/// the last of its year; 400 years have 146,097 days.
enum CivilDate {
  /// Days since 1970-01-01; nil when the month or the day does not exist.
  static func days(year: Int, month: Int, day: Int) -> Int? {
    guard (1...12).contains(month), (1...length(ofMonth: month, year: year)).contains(day) else { return nil }
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The first moment of the month after a time, both in seconds since 1970.
  static func startOfNextMonth(after time: Double) -> Double {
    let day = Int((time / 86_400).rounded(.down))
    let (year, month) = yearAndMonth(ofDay: day)
    let next =
      month == 12 ? days(year: year + 1, month: 1, day: 1) : days(year: year, month: month + 1, day: 1)
    return Double(next ?? day) * 86_400
  }

  private static func yearAndMonth(ofDay day: Int) -> (year: Int, month: Int) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month)
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
