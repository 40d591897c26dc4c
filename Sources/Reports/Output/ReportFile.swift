import Formatting
import System

/// A report's file and the one beside it that says what it holds: both appear, or, when anything fails before,
/// neither does and what was there stays.
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
    let sidecarPath = path + ".json"
    for file in [path, sidecarPath] where ExistingFile.isFolder(file) {
      throw ReportsError(.unwritable, "\(file) is a folder", advice: "give the path of a file")
    }
    let file = try Self.start(path)
    let sidecar = try Self.start(sidecarPath)
    self.file = file
    self.sidecar = sidecar
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

  private static func start(_ path: String) throws(ReportsError) -> AtomicFile {
    do { return try AtomicFile(path) } catch { throw unwritable(error) }
  }

  private static func unwritable(_ error: SystemError) -> ReportsError {
    ReportsError(.unwritable, "the report was not written: \(error)", underlying: error)
  }
}
