/// The charts of a statement, for whatever document draws them; nil for what is not known.
package struct StatementCharts {
  private let statement: MonthStatement

  package init(_ statement: MonthStatement) {
    self.statement = statement
  }

  package static let title = "The month in pictures"

  /// How many analyses ended on each day.
  package var days: ColumnChart? {
    guard !statement.days.isEmpty else { return nil }
    // Months that end on another day have days of the month before too, which a number alone does not tell apart.
    let months = Set(statement.days.map { $0.date.year * 12 + $0.date.month })
    return ColumnChart(
      "Analyses a day", label: "Day", unit: "Analyses",
      bars: statement.days.map { day in
        .init(
          String(day.date.day), day.analyses, name: months.count > 1 ? day.date.description : nil)
      })
  }

  /// How often each condition was found, by band.
  package var conditions: BarChart? {
    guard !statement.conditions.isEmpty else { return nil }
    return BarChart(
      "bands", "Conditions by how sure the endpoint was", label: "Condition",
      parts: [
        .init("green", .blank, style: "good"), .init("yellow", .dots, style: "warn"),
        .init("orange", .stripes, style: "warn"), .init("red", .solid, style: "bad"),
      ],
      bars: statement.conditions.map { condition in
        let values = [condition.green, condition.yellow, condition.orange, condition.red]
        return .init(
          StatementWords.short(condition.name), values, note: "\(values.reduce(0, +)) in all")
      })
  }

  /// What was used of each plan's limits.
  package var usage: BarChart? {
    guard !statement.usage.isEmpty else { return nil }
    return BarChart(
      "limits", "Usage against the limits", label: "Plan",
      parts: [
        .init("used", .solid, style: "link"), .init("used beyond the limits", .stripes, style: "bad"),
        .init("not used", .blank, style: "link"),
      ],
      bars: statement.usage.map(bar), scale: .shares)
  }

  private func bar(_ usage: MonthStatement.PlanUsage) -> BarChart.Bar {
    let name = StatementWords.short(usage.plan)
    guard let limit = usage.limit else {
      let users = usage.under == 1 ? "1 user" : "\(usage.under) users"
      return .init(name, [0, 0, 0], note: "no limit, \(usage.used) used by \(users)")
    }
    let parts = [min(usage.used, limit), max(0, usage.used - limit), max(0, limit - usage.used)]
    return .init(name, parts, note: "\(usage.used) of \(limit)", line: users(usage))
  }

  /// `users: 97 under, 18 at, 5 over their limits`.
  private func users(_ usage: MonthStatement.PlanUsage) -> String {
    "users: \(usage.under) under, \(usage.at) at, \(usage.over) over their limits"
  }
}
