/// A way to write a report: it appends bytes, whole lines at a time, and holds no more than it must.
///
/// Called by the writer: once `begin`, then `row` for each row in order, then once `end`.
protocol ReportView: Sendable {
  /// Which columns it is given.
  var audience: Column.Audience { get }
  /// Writes what comes before the first row.
  mutating func begin(_ columns: [Column], into bytes: inout [UInt8])
  /// Writes one row: of its cells those at some places, as many as there are columns.
  mutating func row(_ cells: [Cell], at shown: [Int], into bytes: inout [UInt8])
  /// Writes what comes after the last row.
  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8])
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
