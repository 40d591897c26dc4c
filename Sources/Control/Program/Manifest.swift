import CommandLineTool
import FoundationEssentials
import Support

/// A list of images to submit, as CSV with a header line or as JSON Lines.
enum Manifest {
  /// The most bytes a manifest may have: some 500,000 rows.
  static let limit = 64_000_000

  /// Reads all rows; one that cannot be used is among them with its fault. Throws where the whole cannot be
  /// understood. `name` decides the form by its ending, else the first character does.
  static func rows(_ bytes: [UInt8], name: String) throws(CommandFailure) -> [ManifestRow] {
    let bytes = bytes.withoutByteOrderMark
    return isJSON(bytes, name: name) ? jsonRows(bytes) : try csvRows(bytes, name: name)
  }

  private static func isJSON(_ bytes: [UInt8], name: String) -> Bool {
    let name = name.lowercased()
    if [".jsonl", ".ndjson", ".json"].contains(where: name.hasSuffix) { return true }
    if name.hasSuffix(".csv") { return false }
    return bytes.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
  }

  // MARK: - CSV

  private static func csvRows(_ bytes: [UInt8], name: String) throws(CommandFailure) -> [ManifestRow] {
    let table = try CSVTable<ManifestColumn>(bytes, name: name)
    guard table.columns.contains(.file) || table.columns.contains(.url) else {
      throw CommandFailure(
        .unreadableInput, "\(table.position): there is no column 'file' and no column 'url'")
    }
    return table.rows.map { row in
      let content = row.cells.mapError { ManifestRow.Fault(sentence: $0.sentence) }
        .flatMap { cells in Result { () throws(ManifestRow.Fault) in try ManifestRow.Content(cells) } }
      return ManifestRow(line: row.line, content: content)
    }
  }

  // MARK: - JSON Lines

  private static func jsonRows(_ bytes: [UInt8]) -> [ManifestRow] {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.enumerated().compactMap { index, line in
      guard line.contains(where: { !" \t\r".utf8.contains($0) }) else { return nil }
      return ManifestRow(
        line: index + 1, content: Result { () throws(ManifestRow.Fault) in try jsonContent(Data(line)) })
    }
  }

  private static func jsonContent(_ line: Data) throws(ManifestRow.Fault) -> ManifestRow.Content {
    guard let members = try? JSONDecoder().decode([String: String?].self, from: line) else {
      throw ManifestRow.Fault(sentence: "it is not a JSON object whose values are texts")
    }
    var texts: [ManifestColumn: String] = [:]
    for (name, text) in members.sorted(by: { $0.key < $1.key }) {
      guard let column = ManifestColumn(rawValue: name) else {
        let sentence = "there is no '\(printable(name, limit: 60))'; it may hold \(ManifestColumn.list)"
        throw ManifestRow.Fault(sentence: sentence)
      }
      if let text, text.utf8.contains(0) { throw ManifestRow.Fault(sentence: "it holds a NUL character") }
      texts[column] = text
    }
    return try ManifestRow.Content(texts)
  }
}

/// What a manifest may say of an image: the columns of its CSV form, the members of its JSON form.
enum ManifestColumn: String, CaseIterable, Sendable {
  case file, url, user, type, priority, at, key, expires, reference
}

/// A row of a manifest, read.
struct ManifestRow: Sendable, Equatable {
  /// The line on which it begins, from 1.
  let line: Int
  /// What it says, or why it cannot be used.
  let content: Result<Content, Fault>

  /// Whether it names an image by URL.
  var namesURL: Bool {
    if case .success(let content) = content, case .url = content.source { true } else { false }
  }

  /// What a row says; nil where it leaves the command line to say it.
  struct Content: Sendable, Equatable {
    /// Where the image is.
    var source: ManifestRow.Source
    var user: String?
    var kind: AnalysisKind?
    var priority: Priority?
    /// Seconds since 1970.
    var at: Double?
    var key: String?
    /// Seconds since 1970.
    var expires: Double?
    var reference: String?
  }

  /// Where an image is.
  enum Source: Sendable, Equatable {
    case file(String)
    case url(String)
  }

  struct Fault: Error, Sendable, Equatable {
    let sentence: String
  }
}

extension ManifestRow.Content {
  /// Reads the texts of a row. An empty text is as good as none.
  init(_ texts: [ManifestColumn: String]) throws(ManifestRow.Fault) {
    let texts = texts.filter { !$0.value.isEmpty }
    source = try Self.source(texts[.file], texts[.url])
    user = texts[.user]
    kind = try Self.value(.type, texts, .choice(AnalysisKind.self))
    priority = try Self.value(.priority, texts, .choice(Priority.self))
    at = try Self.value(.at, texts, .time)?.timeIntervalSince1970
    key = try Self.value(.key, texts, SubmitLimitsOfText.key)
    expires = try Self.value(.expires, texts, .time)?.timeIntervalSince1970
    reference = try Self.value(.reference, texts, SubmitLimitsOfText.reference)
  }

  private static func source(
    _ file: String?, _ url: String?
  ) throws(ManifestRow.Fault) -> ManifestRow.Source {
    switch (file, url) {
    case (let file?, nil): return .file(file)
    case (nil, let url?): return .url(url)
    case (nil, nil): throw ManifestRow.Fault(sentence: "it names no file and no url")
    default: throw ManifestRow.Fault(sentence: "it names both a file and a url")
    }
  }

  private static func value<Value>(
    _ column: ManifestColumn, _ texts: [ManifestColumn: String], _ format: ValueFormat<Value>
  ) throws(ManifestRow.Fault) -> Value? {
    guard let text = texts[column] else { return nil }
    do {
      return try format.parse(text)
    } catch {
      throw ManifestRow.Fault(sentence: "\(column.rawValue) '\(printable(text, limit: 60))' \(error.reason)")
    }
  }
}
