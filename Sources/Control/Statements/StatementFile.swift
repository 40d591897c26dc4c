public import Support

/// A statement's file as it was written.
public struct StatementFile: Sendable, Equatable {
  /// Where it is.
  public let path: String
  /// How long it is.
  let byteCount: Int
  /// The SHA-256 of its bytes, in lower-case hexadecimal.
  public let sha256: String
  /// The SHA-256 of the statement's data, which the document names, in whatever format it is.
  let dataSHA256: String
  /// False where exactly this closed statement was there already, and was not touched.
  let isNew: Bool
}

extension MonthStatement {
  /// Writes the statement to a file that only its owner may read; it appears whole or not at all. A pipe or a device is
  /// written to.
  ///
  /// It keeps a processor busy, for many lines for seconds: call it from a thread that may be.
  /// Throws `unwritable`.
  public func write(to path: String, as format: StatementFormat) throws(ReportsError) -> StatementFile {
    try write(to: path, as: format, printer: StatementPrinter())
  }

  func write(
    to path: String, as format: StatementFormat, printer: StatementPrinter
  ) throws(ReportsError) -> StatementFile {
    do {
      var file = try AtomicFile(path)
      var existing = ExistingFile(path)
      let data = sha256
      let isFile = try AtomicFile.isFile(path)
      try write(format, data, beside: isFile ? path : "/tmp/", printer) { chunk in
        existing.compare(chunk)
        try file.write(chunk)
      }
      let (hash, byteCount) = (file.sha256, file.byteCount)
      let isThere = existing.isExactlyThat()
      if state == .closed, isThere {
        return StatementFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: false)
      }
      _ = try file.commit()
      return StatementFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: true)
    } catch let error as ReportsError {
      throw error
    } catch {
      throw ReportsError(.unwritable, "the statement was not written: \(error)", underlying: error)
    }
  }

  /// Passes on the document's bytes in chunks.
  private func write(
    _ format: StatementFormat, _ sha256: String, beside path: String, _ printer: StatementPrinter,
    to sink: ([UInt8]) throws -> Void
  ) throws {
    switch format {
    case .csv: try writeCSV(to: sink)
    case .html: try StatementPage(self, sha256: sha256).write(to: sink)
    case .pdf: try sink(try printer.pdf(self, sha256: sha256))
    case .xlsx: try StatementWorkbook(self, sha256: sha256).write(beside: path, to: sink)
    }
  }
}
