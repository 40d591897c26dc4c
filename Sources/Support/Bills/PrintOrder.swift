import FoundationEssentials

/// What a program sends to its `statement-printer`, on the same machine: a statement to be drawn as PDF.
///
/// The printer reads it from its standard input until that ends. On its standard output stands the PDF, where it ends
/// with 0, or what went wrong and what to do about it, a line each, where it ends with `refused`.
package struct PrintOrder: Codable {
  package let bill: Bill
  /// The SHA-256 of its data.
  package let sha256: String

  /// What an order begins with. Its number grows when anything in a statement changes, so that two programs of different
  /// versions do not misunderstand each other.
  private static let greeting = Array("statement1\n".utf8)

  /// The printer's exit code where there is no PDF for a reason that it says.
  package static let refused: Int32 = 1
  /// Its exit code where its input is no order of its version.
  package static let unreadable: Int32 = 65

  /// An order to draw a statement.
  package init(_ bill: Bill, sha256: String) {
    self.bill = bill
    self.sha256 = sha256
  }

  private enum CodingKeys: String, CodingKey { case bill = "statement", sha256 }

  /// Reads an order; nil for anything else, and for one of another version.
  package init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.greeting),
      let order = try? JSONDecoder().decode(Self.self, from: Data(bytes.dropFirst(Self.greeting.count)))
    else { return nil }
    self = order
  }

  /// The order as it is sent.
  package var bytes: [UInt8] {
    get throws { Self.greeting + (try JSONEncoder().encode(self)) }
  }
}

/// The charts of a statement, for whatever document draws them; nil for what is not known.
package struct BillCharts {
  private let bill: Bill

  package init(_ bill: Bill) {
    self.bill = bill
  }

  package static let title = "The month in pictures"

  /// How many analyses ended on each day.
  package var days: ColumnChart? {
    guard !bill.days.isEmpty else { return nil }
    // Months that end on another day have days of the month before too, which a number alone does not tell apart.
    let months = Set(bill.days.map { $0.date.year * 12 + $0.date.month })
    return ColumnChart(
      "Analyses a day", label: "Day", unit: "Analyses",
      bars: bill.days.map { day in
        .init(
          String(day.date.day), day.analyses, name: months.count > 1 ? day.date.description : nil)
      })
  }

  /// How often each condition was found, by band.
  package var conditions: BarChart? {
    guard !bill.conditions.isEmpty else { return nil }
    let hasNormal = bill.conditions.contains(where: \.isNormal)
    let marks = ConditionMark.allCases.filter { $0 != .normal || hasNormal }
    return BarChart(
      "bands", "Conditions by how sure the endpoint was", label: "Condition",
      parts: marks.map { mark in
        switch mark {
        case .normal: .init("normal", .lines, style: "good")
        case .green: .init("green", .blank, style: "good")
        case .yellow: .init("yellow", .dots, style: "warn")
        case .orange: .init("orange", .stripes, style: "warn")
        case .red: .init("red", .solid, style: "bad")
        }
      },
      bars: bill.conditions.map { condition in
        let values = marks.map(condition.count)
        return .init(
          BillWords.short(condition.name), values, note: "\(values.reduce(0, +)) in all")
      })
  }

  /// What was used of each plan's limits.
  package var usage: BarChart? {
    guard !bill.usage.isEmpty else { return nil }
    return BarChart(
      "limits", "Usage against the limits", label: "Plan",
      parts: [
        .init("used", .solid, style: "link"), .init("used beyond the limits", .stripes, style: "bad"),
        .init("not used", .blank, style: "link"),
      ],
      bars: bill.usage.map(bar), scale: .shares)
  }

  private func bar(_ usage: Bill.PlanUsage) -> BarChart.Bar {
    let name = BillWords.short(usage.plan)
    guard let limit = usage.limit else {
      let users = usage.under == 1 ? "1 user" : "\(usage.under) users"
      return .init(name, [0, 0, 0], note: "no limit, \(usage.used) used by \(users)")
    }
    let parts = [min(usage.used, limit), max(0, usage.used - limit), max(0, limit - usage.used)]
    return .init(name, parts, note: "\(usage.used) of \(limit)", line: users(usage))
  }

  /// `users: 97 under, 18 at, 5 over their limits`.
  private func users(_ usage: Bill.PlanUsage) -> String {
    "users: \(usage.under) under, \(usage.at) at, \(usage.over) over their limits"
  }
}

extension Bill.Condition {
  /// How often it is shown as this.
  fileprivate func count(_ mark: ConditionMark) -> Int64 {
    let bands: [ConfidenceBand: Int64] = [.green: green, .yellow: yellow, .orange: orange, .red: red]
    return bands.reduce(0) { sum, band in
      ConditionMark(band.key, isNormal: isNormal) == mark ? sum + band.value : sum
    }
  }
}
