import CommandLineTool
import Support

/// Whose usage `report usage` shows, and in which rows.
struct UsageArguments: Sendable {
  let clinic: String?
  let user: String?
  let hasIdleUsers: Bool
  /// What a row is of; nil for a row a user.
  let grouping: UsageScope.Grouping?
  /// The days that are added up; nil for all of the month.
  let days: ClosedRange<CivilDate>?

  /// Reads what is given, and refuses what contradicts itself.
  init(_ context: ControlContext, format: ReportFormat) throws {
    if try context[ReportCommand.due] != nil { try Self.checkAlone(context.values) }
    clinic = try context[ReportCommand.clinic]
    user = try context[ReportCommand.user]
    hasIdleUsers = try context[ReportCommand.allUsers]
    grouping = try context[ReportCommand.grouping]
    days = try Self.days(from: try context[ReportCommand.from], to: try context[ReportCommand.to])
    if grouping == nil, days != nil {
      throw CommandFailure.usage(
        "--from and --to need --by", advice: "Give --by day, clinic, plan or type; or a --month.")
    }
    if days != nil { try Self.refuse(ReportCommand.month, "--from", context.values) }
    if grouping != nil {
      try Self.refuse(ReportCommand.zone, "--by", context.values)
      try Self.refuse(ReportCommand.allUsers, "--by", context.values)
    }
    if hasIdleUsers, format != .table {
      throw CommandFailure.usage("--all-users is of use only with a table: CSV and JSON have every user")
    }
  }

  /// `--due` decides months, users, form and files by itself.
  private static func checkAlone(_ values: Values) throws(CommandFailure) {
    let others: [any Input] = [
      ReportCommand.month, ReportCommand.format, ReportCommand.out, ReportCommand.from, ReportCommand.to,
      ReportCommand.grouping, ReportCommand.clinic, ReportCommand.user, ReportCommand.allUsers,
    ]
    for other in others { try refuse(other, "--due", values) }
  }

  /// The month of the first day; nil where the month is asked for.
  var firstMonth: Period? { days.flatMap { Period(year: $0.lowerBound.year, month: $0.lowerBound.month) } }

  /// The scope of a month, which is that of the first day.
  func scope(_ month: Period) -> UsageScope {
    UsageScope(
      clinic: clinic, user: user, hasIdleUsers: hasIdleUsers,
      groups: grouping.map { grouping in
        days.map { .init(by: grouping, $0) } ?? .init(by: grouping, month)
      })
  }

  private static func days(from: String?, to: String?) throws(CommandFailure) -> ClosedRange<CivilDate>? {
    guard from != nil || to != nil else { return nil }
    guard let first = from.flatMap(CivilDate.init), let last = to.flatMap(CivilDate.init) else {
      throw .usage("--from and --to are given together", advice: "Both days count; one day is both.")
    }
    guard first <= last else { throw .usage("--to \(last) is before --from \(first)") }
    let count = last.number - first.number + 1
    guard count <= UsageScope.Groups.mostDays else {
      throw .usage(
        "\(first) to \(last) are \(count) days, and at most \(UsageScope.Groups.mostDays) are added up at once"
      )
    }
    guard [first, last].allSatisfy({ Period(year: $0.year, month: $0.month) != nil }) else {
      throw .usage("\(first) to \(last) are not of the years 2000 to 2699")
    }
    return first...last
  }

  /// Refuses another input beside one that decides what that one says.
  private static func refuse(_ input: some Input, _ name: String, _ values: Values) throws(CommandFailure) {
    guard values.source(of: input) == .commandLine else { return }
    throw .usage("\(name) and \(input.definition.spelling) cannot be given together")
  }
}
