import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

/// What was found in a photo, as `submit --results` shows and writes it.
enum PhotoFinding: Sendable, Equatable {
  /// An analysis.
  case found(StoredResult)
  /// There is one that this login may not read, or none is kept any more.
  case notShown

  /// The conditions, the likeliest first: `Tonsillitis 83% (red), Normal 21% (normal)`.
  func text(_ paint: Paint) -> String {
    guard case .found(let result) = self else { return "its result is not shown to this login" }
    let conditions = StoredCondition.read(result.conditionsJSON)
    guard !conditions.isEmpty else { return "no condition was found" }
    return conditions.map { condition in
      let text = "\(printable(condition.name)) \(condition.percentage ?? "") (\(condition.bandText))"
      return condition.bandColour.map { paint(text, $0) } ?? text
    }.joined(separator: ", ")
  }

  var json: JSONValue {
    if case .found(let result) = self { result.json } else { .null }
  }
}

/// A file with the findings of a run, a line for each condition of each photo.
enum FindingsFile {
  private static let header = [
    "file", "user", "type", "reference", "job", "state", "condition", "confidence", "band", "serious",
    "consult",
  ]

  /// Writes the file whole, or not at all.
  static func write(_ results: [SubmitResult], to path: String) async throws {
    let bytes = csv(results)
    let outcome = await HelperThread.value {
      Result { () throws(SystemError) in
        var file = try AtomicFile(path)
        try file.write(bytes)
        _ = try file.commit()
      }
    }
    guard let outcome else { throw CommandFailure(.tryLater, "the system has no thread left") }
    try outcome.get()
  }

  static func csv(_ results: [SubmitResult]) -> [UInt8] {
    var bytes: [UInt8] = []
    row(header, into: &bytes)
    for result in results where result.job != nil {
      let item = result.item
      let known = [
        item.name, item.user, item.kind?.rawValue, item.reference, result.job?.description,
        result.state?.rawValue,
      ]
      for condition in conditions(result) { row(known + condition, into: &bytes) }
    }
    return bytes
  }

  /// The cells of each condition; empty ones for a job without any.
  private static func conditions(_ result: SubmitResult) -> [[String?]] {
    guard case .found(let stored)? = result.finding else { return [[nil, nil, nil, nil, nil]] }
    let flags = [stored.isSerious, stored.advisesConsultation].map { $0.map { $0 ? "true" : "false" } }
    let conditions = StoredCondition.read(stored.conditionsJSON)
    guard !conditions.isEmpty else { return [[nil, nil, nil] + flags] }
    return conditions.map { [$0.name, String($0.confidence), $0.bandText] + flags }
  }

  private static func row(_ cells: [String?], into bytes: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      if let cell { CSVText.append(cell, to: &bytes) }
    }
    bytes.append(contentsOf: "\r\n".utf8)
  }
}

extension StoredCondition {
  /// The band's colour, or that the condition is none to worry about.
  var bandText: String { normal == true ? "normal" : shownBand?.rawValue ?? "" }
  /// The colour in which it is shown.
  var bandColour: Paint.Colour? { normal == true ? nil : shownBand?.colour }
}
