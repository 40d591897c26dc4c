/// Drives a view row by row and passes its bytes on in chunks of whole lines.
///
/// The sink is asked for again at each call and never kept, so that it may be a file that cannot be copied.
struct ReportWriter {
  private var view: any ReportView
  private let shown: [Int]
  private let columns: [Column]
  private var bytes: [UInt8] = []
  // Kept from row to row, so that a row costs no memory of its own.
  private var cells: [ReportCell] = []
  private(set) var rows = 0

  /// When a chunk is passed on; large enough that a call a chunk costs nothing.
  private static let chunkSize = 65_536

  init(_ view: any ReportView, columns: [Column]) {
    self.view = view
    shown = columns.indices.filter { columns[$0].isShown(to: view.audience) }
    self.columns = shown.map { columns[$0] }
  }

  /// Writes what comes before the rows.
  mutating func begin() {
    view.begin(columns, into: &bytes)
  }

  /// Takes the sum of the rows that follow; `put` appends a cell for each column.
  mutating func sum(_ put: (_ cells: inout [ReportCell]) -> Void) {
    cells.removeAll(keepingCapacity: true)
    put(&cells)
    view.sum(cells, at: shown)
  }

  /// Writes one row; `put` appends a cell for each column of the presenter.
  mutating func row(
    to sink: (_ chunk: [UInt8]) throws -> Void, _ put: (_ cells: inout [ReportCell]) -> Void
  ) rethrows {
    cells.removeAll(keepingCapacity: true)
    put(&cells)
    view.row(cells, at: shown, into: &bytes)
    rows += 1
    if bytes.count >= Self.chunkSize { try pass(to: sink) }
  }

  /// Writes what comes after the rows and passes on all that is left.
  mutating func end(_ meta: ReportMeta, to sink: (_ chunk: [UInt8]) throws -> Void) rethrows {
    var meta = meta
    meta.rows = rows
    view.end(meta, into: &bytes)
    if !bytes.isEmpty { try pass(to: sink) }
  }

  private mutating func pass(to sink: (_ chunk: [UInt8]) throws -> Void) rethrows {
    try sink(bytes)
    bytes.removeAll(keepingCapacity: true)
  }
}
