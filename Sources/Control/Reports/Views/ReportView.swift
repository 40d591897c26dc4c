import PostgreSQL
import Support

/// A way to write a report: it appends bytes, whole lines at a time, and holds no more than it must.
///
/// Called by the writer: once `begin`, then `sum` where there is one, then `row` for each row in order, then once
/// `end`.
protocol ReportView: Sendable {
  /// Which columns it is given.
  var audience: Column.Audience { get }
  /// Writes what comes before the first row.
  mutating func begin(_ columns: [Column], into bytes: inout [UInt8])
  /// Takes the sum of the rows that follow. Views for programs leave it out: they add up themselves.
  mutating func sum(_ cells: [ReportCell], at shown: [Int])
  /// Writes one row: of its cells those at some indices, as many as there are columns.
  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8])
  /// Writes what comes after the last row.
  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8])
}

extension ReportView {
  mutating func sum(_ cells: [ReportCell], at shown: [Int]) {}
}

extension ReportFormat {
  /// The view that writes this format: a new format is one more view here.
  func view(for request: ReportRequest) -> any ReportView {
    switch self {
    case .table: TableView(width: request.width)
    case .csv: CSVView(excel: request.excel)
    case .json: JSONView()
    }
  }
}

/// What a report is, beside its rows; known in full when the last row is written.
struct ReportMeta: Equatable, Sendable {
  let kind: ReportKind
  let month: Period
  /// The last of several months; nil for one.
  var lastMonth: Period?
  /// The zone in which times are shown; nil for each user's billing zone.
  let zone: String?
  let state: ReportState
  /// The moment of the report in UTC as RFC 3339 has it: for a closed statement the moment of its closing,
  /// so that it comes out the same for ever.
  let generatedAt: String
  /// Since when results of the month have been removed; nil while it is whole, or where that changes nothing.
  var removedSince: Timestamp?
  var rows = 0
  /// Whose usage it has, and in which rows.
  var scope = UsageScope()

  /// The month, or the first and the last: `2026-09 to 2026-11`.
  var monthText: String { lastMonth.map { "\(month) to \($0)" } ?? month.description }

  /// The zone as JSON names it.
  var zoneText: String { zone ?? "billing" }

  /// The fields in the order in which they are written.
  var fields: [JSONValue.Member] {
    [.init(name: "report", value: .string(kind.rawValue))] + span + holder
      + [
        .init(name: "rows", value: .count(rows)), .init(name: "generated_at", value: .string(generatedAt)),
      ] + removal
  }

  /// The month, or the days and how they are added up, which have no state: they are as they are now.
  private var span: [JSONValue.Member] {
    guard !kind.isOfReviews else {
      return [
        .init(name: "from", value: .string(month.description)),
        .init(name: "to", value: .string((lastMonth ?? month).description)),
      ]
    }
    guard let groups = scope.groups else {
      return [
        .init(name: "month", value: .string(month.description)),
        .init(name: "zone", value: .string(zoneText)),
        .init(name: "state", value: .string(state.rawValue)),
      ]
    }
    return [
      .init(name: "by", value: .string(groups.by.rawValue)),
      .init(name: "from", value: .string(groups.days.lowerBound.description)),
      .init(name: "to", value: .string(groups.days.upperBound.description)),
      .init(name: "zone", value: .string(zoneText)),
    ]
  }

  /// The clinic and the user, where the report is of one.
  private var holder: [JSONValue.Member] {
    [("clinic", scope.clinic), ("user", scope.user)].compactMap { name, value in
      value.map { .init(name: name, value: .string($0)) }
    }
  }

  /// What a file without rows would not tell: that there were some.
  private var removal: [JSONValue.Member] {
    guard let removedSince else { return [] }
    let moment = removedSince.rfc3339
    return [.init(name: "results_removed_since", value: .string(moment))]
  }
}
