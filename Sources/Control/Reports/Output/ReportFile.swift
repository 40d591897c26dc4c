import Glibc
import Support

/// A report's file and the one beside it that says what it holds: both appear, or, when anything fails before,
/// neither does and what was there stays. Beside a pipe or a device there is none.
struct ReportFile: ~Copyable {
  private var file: AtomicFile
  private var sidecar: AtomicFile
  private var existing: ExistingFile
  private let sidecarPath: String

  /// What was made of the two files.
  struct Result {
    let sha256: String
    /// False when both were there already, byte for byte.
    let isNew: Bool
  }

  /// Starts both files. Throws `unwritable` before anything is asked of the database.
  init(_ path: String) throws(ReportsError) {
    let sidecarPath: String
    do {
      sidecarPath = try AtomicFile.isFile(path) ? path + ".json" : "/dev/null"
      let file = try AtomicFile(path)
      let sidecar = try AtomicFile(sidecarPath)
      self.file = file
      self.sidecar = sidecar
    } catch {
      throw Self.unwritable(error)
    }
    existing = ExistingFile(path)
    self.sidecarPath = sidecarPath
  }

  /// Appends a chunk of the report.
  mutating func write(_ chunk: [UInt8]) throws(ReportsError) {
    existing.compare(chunk)
    do { try file.write(chunk) } catch { throw Self.unwritable(error) }
  }

  /// Puts both files in their places, the report first, so that the sidecar speaks of a file that is there.
  ///
  /// A closed statement that is there already with its sidecar is not touched.
  consuming func finish(_ meta: ReportMeta, format: ReportFormat) throws(ReportsError) -> Result {
    let sha256 = file.sha256
    let description = Self.description(meta, format: format, byteCount: file.byteCount, sha256: sha256)
    var oldSidecar = ExistingFile(sidecarPath)
    oldSidecar.compare(description)
    let isReportThere = existing.isExactlyThat()
    let isSidecarThere = oldSidecar.isExactlyThat()
    if meta.state == .closed, meta.kind == .usage, isReportThere, isSidecarThere {
      return Result(sha256: sha256, isNew: false)
    }
    do {
      try sidecar.write(description)
      _ = try file.commit()
      _ = try sidecar.commit()
    } catch {
      throw Self.unwritable(error)
    }
    return Result(sha256: sha256, isNew: true)
  }

  private static func description(
    _ meta: ReportMeta, format: ReportFormat, byteCount: Int, sha256: String
  ) -> [UInt8] {
    let fields: [JSONValue.Member] =
      meta.fields + [
        .init(name: "format", value: .string(format.rawValue)),
        .init(name: "bytes", value: .count(byteCount)), .init(name: "sha256", value: .string(sha256)),
      ]
    return JSONValue.object(fields).bytes + [UInt8(ascii: "\n")]
  }

  private static func unwritable(_ error: SystemError) -> ReportsError {
    ReportsError(.unwritable, "the report was not written: \(error)", underlying: error)
  }
}

/// A file that may already be in a report's place, read along with what is written anew, so that an equal one
/// is left alone.
struct ExistingFile: ~Copyable {
  private let descriptor: Int32
  /// Whether everything so far was equal; false also for a file that is not there.
  private var isEqual: Bool

  init(_ path: String) {
    var status = stat()
    // Who opened a pipe that is written to would be its reader.
    let isFile = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    descriptor = isFile ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1
    isEqual = descriptor >= 0
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Compares the next bytes.
  mutating func compare(_ bytes: [UInt8]) {
    guard isEqual else { return }
    isEqual = read(bytes.count) == bytes
  }

  /// Whether the file held exactly the bytes that were compared and no more.
  consuming func isExactlyThat() -> Bool {
    isEqual && read(1).isEmpty
  }

  /// Up to `count` bytes; fewer at the end or where the file cannot be read.
  private func read(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: done), count - done)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      done += got
    }
    return Array(bytes.prefix(done))
  }
}

/// What of a report has been passed on. Of one that is read anew, the same bytes are left out.
struct PassedReport: ~Copyable {
  private var passed = SHA256()
  private var count = 0
  private var repeated = SHA256()
  private var repeatedCount = 0

  /// From here on the report comes from its beginning.
  mutating func beginAnew() {
    repeated = SHA256()
    repeatedCount = 0
  }

  /// What of a chunk has not been passed on.
  ///
  /// - Throws: When what comes anew is not what was passed on, since something was changed meanwhile.
  mutating func new(_ chunk: [UInt8]) throws(ReportsError) -> [UInt8] {
    let old = Array(chunk.prefix(count - repeatedCount))
    let new = Array(chunk.dropFirst(old.count))
    if !old.isEmpty {
      repeated.update(old.span.bytes)
      repeatedCount += old.count
      if repeatedCount == count, repeated.digest != passed.digest {
        throw ReportsError(
          .unreachable, "the report was broken off, and what it has shown has changed since",
          advice: "run it again; with --out nothing is shown before it is whole")
      }
    }
    passed.update(new.span.bytes)
    count += new.count
    repeatedCount += new.count
    return new
  }
}

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
