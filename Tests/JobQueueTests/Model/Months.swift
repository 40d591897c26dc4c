import Foundation
import Synchronization

/// The months of a zone as Foundation knows them, found once and then looked up.
struct Months {
  /// The IANA name.
  let zone: String
  /// The first moments of the months from January of the first year on, in milliseconds since 1970.
  private let starts: [Int64]

  private static let years = 2030...2033
  private static let known = Mutex<[String: Months]>([:])

  /// The months of a zone; an unknown zone counts as UTC.
  init(zone: String) {
    if let months = Self.known.withLock({ $0[zone] }) {
      self = months
      return
    }
    self.zone = zone
    starts = Self.years.flatMap { year in
      (0..<12).map { Self.firstMoment(of: Int16(year * 12 + $0), Self.calendar(zone)) }
    }
    let months = self
    Self.known.withLock { $0[zone] = months }
  }

  /// The month of a moment, as year times twelve plus the month from nought; from 2030 to 2033.
  func label(at time: Int64) -> Int16 {
    let after = starts.firstIndex { $0 > time } ?? starts.endIndex
    return Int16(Self.years.lowerBound * 12 + after - 1)
  }

  /// The first moment of a month.
  func start(of label: Int16) -> Int64 {
    starts[Int(label) - Self.years.lowerBound * 12]
  }

  static func calendar(_ zone: String) -> Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
    return calendar
  }

  /// The month in which a moment lies.
  static func label(at date: Date, _ calendar: Calendar) -> Int16 {
    let parts = calendar.dateComponents([.year, .month], from: date)
    return Int16((parts.year ?? 0) * 12 + (parts.month ?? 1) - 1)
  }

  /// The first moment that lies in a month, to the minute: found by halving between one that does not and one
  /// that does, so that no wall time that comes twice or not at all misleads.
  static func firstMoment(of label: Int16, _ calendar: Calendar) -> Int64 {
    let parts = DateComponents(year: Int(label) / 12, month: Int(label) % 12 + 1, day: 2)
    var inside = Int64((calendar.date(from: parts) ?? .distantPast).timeIntervalSince1970 / 60)
    var outside = inside - 4 * 24 * 60
    while inside - outside > 1 {
      let middle = (inside + outside) / 2
      if Self.label(at: Date(timeIntervalSince1970: Double(middle) * 60), calendar) == label {
        inside = middle
      } else {
        outside = middle
      }
    }
    return inside * 60_000
  }
}
