import CommandLineTool
import Formatting

/// The option by which somebody says why.
enum ReasonOption {
  static let reason = Option<String?>(
    "reason", .reason, help: "Why, for the audit; at most 500 characters, and no names of people.")
}

extension ValueFormat where Value == String {
  /// A text of at most 500 characters, without what could move the cursor or turn a line round.
  static var reason: Self {
    ValueFormat(
      name: "TEXT",
      parse: { (given: String) throws(ValueError) -> String in
        let text = printable(given).split(separator: " ").joined(separator: " ")
        guard !text.isEmpty else { throw ValueError("is empty") }
        guard text.unicodeScalars.count <= 500 else { throw ValueError("has more than 500 characters") }
        return text
      },
      text: { $0 })
  }
}
