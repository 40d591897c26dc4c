import Foundation

@testable import Control
@testable import Support

extension LocalTime {
  /// A moment by what the clocks of a zone show, so many hours ahead of UTC.
  init(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0, ahead hours: Int64) {
    let days = CivilDate(year: year, month: month, day: day)?.number ?? 0
    let local = Int64(days * 86_400 + hour * 3600 + minute * 60)
    self.init(microseconds: (local - hours * 3600) * 1_000_000, local: local * 1_000_000)
  }
}

extension DecimalText {
  /// Digits of a test, which are a number.
  static func of(_ text: String) -> DecimalText {
    guard let number = DecimalText(text) else { fatalError("\(text) is no number") }
    return number
  }
}

/// A statement in which all is that one can have: a plan that changed on the 15th, a plan without a limit, a user without
/// a plan, names of other scripts and such as look like formulas, another zone, adjustments.
enum StatementExample {
  static let october = month("2020-10")
  static let september = month("2020-09")

  private static func month(_ text: String) -> Period {
    guard let month = Period(text) else { fatalError("\(text) is no month") }
    return month
  }

  static let free = BillLine.Plan("free", displayName: "Basic")
  static let premium = BillLine.Plan("premium", displayName: "Premium")

  static var lines: [BillLine] {
    let (start, end) = (LocalTime(2020, 10, 1, ahead: 7), LocalTime(2020, 11, 1, ahead: 7))
    let change = LocalTime(2020, 10, 15, 14, 30, ahead: 7)
    func line(
      _ user: String, _ plan: BillLine.Plan?, _ limit: Int64?, _ units: Int64, over: Int64 = 0,
      from: LocalTime = start, until: LocalTime = end, _ price: String?, _ amount: String?,
      zone: String = "Asia/Jakarta"
    ) -> BillLine {
      BillLine(
        user: user, month: october, kind: .month, zone: zone, from: from, until: until, plan: plan,
        limit: limit, units: units, over: over, price: price.map(DecimalText.of),
        amount: amount.map(DecimalText.of))
    }
    return [
      line("=1+1", premium, nil, 3, "0.125", "0.38"),
      line("ana", free, 10, 12, over: 2, until: change, "0.50", "6.00"),
      line("ana", premium, nil, 40, from: change, "0.125", "5.00"),
      line(
        "bob <b>\"&'", premium, nil, 7, from: LocalTime(2020, 10, 1, ahead: -4),
        until: LocalTime(2020, 11, 1, ahead: -4), "0.125", "0.88", zone: "America/New_York"),
      line("idle, without a plan", nil, nil, 0, nil, nil),
      line("@مرضى عيادة الشمال", free, 10, 10, "0.50", "5.00"),
    ]
  }

  static let adjustments = [
    BillLine(
      user: "ana", month: september, kind: .adjustment, zone: "Asia/Jakarta",
      from: LocalTime(2020, 9, 1, ahead: 7), until: LocalTime(2020, 10, 1, ahead: 7), plan: free, limit: nil,
      units: -3, price: .of("0.50"), amount: .of("-1.50"),
      reason: "2 failed, 1 cancelled since the month was closed")
  ]

  /// The statement, with so many lines of other users besides, a unit at 0.50 each.
  static func statement(others: Int = 0, state: ReportState = .closed) -> Bill {
    var lines = lines
    for number in 0..<others {
      lines.append(
        BillLine(
          user: "user-\(10_000 + number)", month: october, kind: .month, zone: "Asia/Jakarta",
          from: LocalTime(2020, 10, 1, ahead: 7), until: LocalTime(2020, 11, 1, ahead: 7), plan: free,
          limit: 10, units: 1, price: .of("0.50"), amount: .of("0.50")))
    }
    let cents = 1576 + 50 * others
    let amount = "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    return Bill(
      number: state == .closed ? "2020-10-0007" : nil,
      holder: .init(.clinic, name: "North <Clinic>", address: ["1 Harbour Street", "10110 Jakarta"]),
      month: october, state: state, moment: LocalTime(2020, 11, 4, 9, 15, ahead: 7), zone: "Asia/Jakarta",
      currency: "EUR", lines: lines, adjustments: adjustments,
      total: .init(units: Int64(69 + others), over: 2, amount: .of(amount)),
      days: (1...31).compactMap { day in
        CivilDate(year: 2020, month: 10, day: day).map { .init($0, analyses: Int64((day * 7) % 11)) }
      },
      conditions: [
        .init("Tonsillitis", green: 2, yellow: 9, orange: 14, red: 30),
        .init("Pharyngitis", green: 11, yellow: 4, orange: 0, red: 1),
        .init("Otitis media, acute, with a long name", green: 0, yellow: 0, orange: 3, red: 0),
      ],
      usage: [
        .init("Basic", limit: 20, used: 22, under: 0, at: 1, over: 1),
        .init("Premium", limit: nil, used: 50, under: 3, at: 0, over: 0),
        .init("Family", limit: 400, used: 100, under: 40, at: 2, over: 0),
      ])
  }

  /// A statement without prices, of one user, in which nothing was used.
  static var empty: Bill {
    Bill(
      number: nil, holder: .init(.user, name: "ana"), month: october, state: .draft,
      moment: LocalTime(2020, 10, 20, ahead: 0), zone: "UTC", currency: nil, lines: [],
      total: .init(units: 0, over: 0, amount: nil))
  }
}

extension StatementExample {
  /// The statement with a logo of 48 by 16 pixels above it, which is a chequerboard.
  static var withLogo: Bill {
    var statement = statement()
    statement.holder.logo = .init(Array(Data(base64Encoded: logo) ?? Data()), width: 48, height: 16)
    return statement
  }

  private static let logo = """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQIBAQEBAQIBAQECAgICAgICAgIDAwQDAwMDAwICAwQDAwQEBAQE\
    AgMFBQQEBQQEBAT/2wBDAQEBAQEBAQIBAQIEAwIDBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE\
    BAT/wAARCAAQADADAREAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQID\
    AAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlq\
    c3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3\
    +Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEI\
    FEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImK\
    kpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD+\
    /igD/JPr/Zg/yfP9bCv8Zz/WA/yT6/2YP8nz/Wwr/Gc/1gP8k+v9mD/J8KAP9bCv8Zz/AFgP8k+v9mD/ACfP9bCv8Zz/AFgP8k+v9mD/\
    ACfP9bCv8Zz/AFgP/9k=
    """
}
