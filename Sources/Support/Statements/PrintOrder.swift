import FoundationEssentials

/// What a program sends to its `statement-printer`, on the same machine: a statement to be drawn as PDF.
///
/// The printer reads it from its standard input until that ends. On its standard output stands the PDF, where it ends
/// with 0, or what went wrong and what to do about it, a line each, where it ends with `refused`.
package struct PrintOrder: Codable {
  /// The statement.
  package let statement: MonthStatement
  /// The SHA-256 of its data.
  package let sha256: String

  /// What an order begins with. Its number grows when anything in a statement changes, so that two programs of different
  /// versions do not misunderstand each other.
  private static let greeting = Array("statement1\n".utf8)

  /// The printer's exit code where there is no PDF for a reason that it says.
  package static let refused: Int32 = 1
  /// Its exit code where its input is no order of its version.
  package static let unreadable: Int32 = 65

  /// An order to draw a statement.
  package init(_ statement: MonthStatement, sha256: String) {
    self.statement = statement
    self.sha256 = sha256
  }

  /// Reads an order; nil for anything else, and for one of another version.
  package init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: Self.greeting),
      let order = try? JSONDecoder().decode(Self.self, from: Data(bytes.dropFirst(Self.greeting.count)))
    else { return nil }
    self = order
  }

  /// The order as it is sent.
  package var bytes: [UInt8] {
    get throws { Self.greeting + (try JSONEncoder().encode(self)) }
  }
}
