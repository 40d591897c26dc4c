import AnalysisCore
import CommandLineTool
import Formatting
import FoundationEssentials

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

/// The lengths of texts that the database takes.
enum SubmitLimitsOfText {
  /// A key has at most 200 characters.
  static let key = ValueFormat<String>.string.refined { key in
    key.unicodeScalars.count <= 200 ? nil : "is longer than 200 characters"
  }

  /// A key that others are derived from leaves them 50 characters.
  static let runKey = ValueFormat<String>.string.refined { key in
    key.unicodeScalars.count <= 150 ? nil : "is longer than 150 characters"
  }

  /// What is kept of a file's name, in characters.
  static let sourceName = 500
}
