import Support

/// Whose usage is reported, and whether a row is of a user or of a group of units.
struct UsageScope: Sendable, Equatable {
  /// The clinic whose patients the users are now, by name; nil for all users whom the login sees.
  var clinic: String?
  /// The user; nil for all.
  var user: String?
  /// Whether users who used nothing have a line too.
  var hasIdleUsers: Bool
  /// How the units of some days are added up; nil for a row a user.
  var groups: Groups?

  /// A scope.
  init(
    clinic: String? = nil, user: String? = nil, hasIdleUsers: Bool = false, groups: Groups? = nil
  ) {
    self.clinic = clinic
    self.user = user
    self.hasIdleUsers = hasIdleUsers
    self.groups = groups
  }

  /// What a row of added-up usage is of.
  enum Grouping: String, Sendable, CaseIterable {
    /// A day by the clocks of each user's billing zone.
    case day
    /// The clinic whose patient a user is now.
    case clinic
    /// The plan at the moment of each unit.
    case plan
    /// The type of the analysis.
    case type
  }

  /// How the units of some days are added up.
  struct Groups: Sendable, Equatable {
    /// What a row is of.
    var by: Grouping
    /// The days in which the units were taken.
    var days: ClosedRange<CivilDate>

    /// How many days can be added up at once: a year.
    static let mostDays = 366

    /// Groups of the units of some days; the database refuses more than `mostDays`.
    init(by: Grouping, _ days: ClosedRange<CivilDate>) {
      self.by = by
      self.days = days
    }

    /// Groups of the units of a month.
    init(by: Grouping, _ month: Period) {
      let first = CivilDate(number: CivilDate(year: month.year, month: month.month, day: 1)?.number ?? 0)
      self.init(by: by, first...CivilDate(number: first.startOfNextMonth.number - 1))
    }

    /// The months that the days are of; none where the years are not known.
    var months: [Period] {
      let ends = [days.lowerBound, days.upperBound].compactMap { Period(year: $0.year, month: $0.month) }
      guard ends.count == 2 else { return [] }
      return (ends[0].label...ends[1].label).compactMap { Period(label: $0) }
    }

    /// The days in words: `2026-10-05 to 2026-10-20`; or the months, where they are whole ones (`2026-10`): then all is
    /// counted that these months' periods have, on whatever day.
    var dayText: String {
      let next = CivilDate(number: days.upperBound.number + 1)
      guard days.lowerBound.day == 1, next.day == 1, let first = months.first, let last = months.last else {
        return "\(days.lowerBound) to \(days.upperBound)"
      }
      return first == last ? "\(first)" : "\(first) to \(last)"
    }
  }
}
