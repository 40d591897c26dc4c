import Foundation
import HTTPTransfer
import TestSupport
import Testing

@testable import Endpoint
@testable import Support

@Suite("Retry-After in seeded histories")
struct RetryAfterHistories {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let longDays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The three forms of HTTP for a moment, made by Foundation's calendar.
  private static func forms(of seconds: Int64) -> [String] {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let date = Date(timeIntervalSince1970: Double(seconds))
    let parts = calendar.dateComponents([.year, .month, .day, .weekday, .hour, .minute, .second], from: date)
    func two(_ number: Int?, _ filler: String = "0") -> String {
      let text = String(number ?? 0)
      return text.count < 2 ? filler + text : text
    }
    let time = [parts.hour, parts.minute, parts.second].map { two($0) }.joined(separator: ":")
    let (year, month) = (parts.year ?? 0, Self.months[(parts.month ?? 1) - 1])
    let (day, longDay) = (Self.days[(parts.weekday ?? 1) - 1], Self.longDays[(parts.weekday ?? 1) - 1])
    return [
      "\(day), \(two(parts.day)) \(month) \(year) \(time) GMT",
      "\(longDay), \(two(parts.day))-\(month)-\(two(year % 100)) \(time) GMT",
      "\(day) \(month) \(two(parts.day, " ")) \(time) \(year)",
    ]
  }

  @Test("every date of HTTP is read as the moment that it names, and one that has passed as no wait")
  func dates() throws {
    try simulate(1000) { random in
      // 2001 to 2060, and a date within the fifty years in which two digits of a year are clear.
      let now = Int64.random(in: 978_307_200...2_840_140_800, using: &random)
      let moment = now + Int64.random(in: -1_000_000_000...1_000_000_000, using: &random)
      for text in Self.forms(of: moment) {
        let read = RetryAfter.date(text, now: Double(now))
        try hold(read == Double(moment), "\(text) is \(moment), not \(String(describing: read))")
        let wait = RetryAfter.seconds(text, now: Double(now))
        try hold(
          wait == Double(max(0, moment - now)), "\(text) at \(now) is a wait of \(String(describing: wait))")
      }
    }
  }

  @Test("whatever the header says, the wait is from nothing to what is allowed, or there is none")
  func clamped() throws {
    let characters = Array("0123456789 -:,.+eGMTSunNovday\u{661}")
    try simulate(2000) { random in
      var text = String(
        UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0...63, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: text = String(text.reversed()) + text
      case 1:
        text =
          Self.forms(of: Int64.random(in: 0...4_000_000_000, using: &random))[
            Int.random(in: 0..<3, using: &random)]
      case 2:
        text = String(
          (0..<Int.random(in: 0...40, using: &random)).map { _ in
            characters.randomElement(using: &random) ?? "0"
          })
      default: break
      }
      if Bool.random(using: &random), !text.isEmpty {
        text.remove(at: text.index(text.startIndex, offsetBy: Int.random(in: 0..<text.count, using: &random)))
      }
      let most = Duration.seconds(Int64.random(in: 1...7200, using: &random))
      let status = [429, 503, 500, 408, 502].randomElement(using: &random) ?? 503
      let failure = Classifier(now: 1_900_000_000, maximumRetryAfter: most).failure(
        status: status, headers: ["Retry-After": text], body: [])
      guard let failure else { throw BrokenRule("\(status) is a failure") }
      let wait = failure.retryAfter ?? .zero
      try hold(wait >= .zero && wait <= most, "Retry-After: \(text) is a wait of \(wait), at most \(most)")
      let digits = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
      if digits { try hold(failure.retryAfter != nil, "\(text) seconds are read") }
    }
  }

  @Test("the service account's pause ends within the next month or the 32 days that the backend may name")
  func monthlyLimit() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    try simulate(1000) { random in
      let now = Double(Int64.random(in: 0...4_000_000_000_000, using: &random)) / 1000
      let parts = calendar.dateComponents([.year, .month], from: Date(timeIntervalSince1970: now))
      let next = DateComponents(year: parts.year, month: (parts.month ?? 1) + 1, day: 1)
      let expected = calendar.date(from: next)?.timeIntervalSince1970
      let start = Double(UnixTime(secondsSince1970: now).date.startOfNextMonth.number * 86_400)
      try hold(
        start == expected,
        "after \(now) the next month begins at \(String(describing: expected)), not \(start)")
    }
  }
}
