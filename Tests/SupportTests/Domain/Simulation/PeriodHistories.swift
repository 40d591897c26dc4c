import TestSupport
import Testing

@testable import Support

@Suite("Months in seeded histories")
struct PeriodHistories {
  @Test("a month is what it is called, lies between its neighbours, and twelve of them are a year")
  func labels() throws {
    try simulate(3000) { random in
      let label = Int16.random(in: .min ... .max, using: &random)
      guard let period = Period(label: label) else {
        try hold(!(24_000..<32_400).contains(label), "\(label) is a month of the years 2000 to 2699")
        return
      }
      try hold(period.year * 12 + period.month - 1 == Int(label), "\(label) is \(period)")
      try hold(Period(period.description) == period, "\(period) cannot be read again")
      try hold(Period(year: period.year, month: period.month) == period, "\(period) is not made of its parts")
      if let next = period.next {
        try hold(next > period && next.previous == period, "\(next) comes after \(period)")
        try hold((next.year == period.year) == (period.month < 12), "\(next) comes after \(period)")
      } else {
        try hold(period.year == 2699 && period.month == 12, "\(period) has no next month")
      }
      let other = Int16.random(in: 24_000..<32_400, using: &random)
      if let other = Period(label: other) {
        let byText = period.description < other.description
        try hold((period < other) == byText, "\(period) and \(other) are in the order of their names")
      }
    }
  }

  @Test("what is no month is not read as one")
  func texts() throws {
    try simulate(3000) { random in
      var text = Array("2026-11".utf8)
      let place = Int.random(in: text.indices, using: &random)
      text[place] = UInt8.random(in: 0x20...0x7E, using: &random)
      let changed = String(decoding: text, as: UTF8.self)
      if let period = Period(changed) {
        try hold(period.description == changed, "\(changed) was read as \(period)")
        try hold((1...12).contains(period.month), "\(changed) was read as \(period)")
      }
    }
  }
}
