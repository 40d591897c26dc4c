/// Turns what an interactor found into the cells that every view shows: names, percentages, bands, times.
protocol ReportPresenter: Sendable {
  /// One row as the interactor answers it.
  associatedtype Response: Sendable
  /// The columns, in an order that never changes.
  static var columns: [Column] { get }
  /// Appends the cells of a row, one for each column.
  static func put(_ response: Response, into cells: inout [Cell])
}
