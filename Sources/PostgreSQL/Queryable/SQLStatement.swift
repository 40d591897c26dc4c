/// A statement's text and parameters (`$1`, `$2`, …).
public struct SQLStatement: Sendable {
  /// The text.
  public let sql: String
  /// The parameters, in order.
  public let parameters: [Parameter]
  /// What errors call it; nil for the text's first words.
  public let label: String?
  /// Whether it is made again and again: the server then parses it once for a connection that has a session of its
  /// own, and remembers how to run it.
  public let isRepeated: Bool

  /// A statement.
  public init(_ sql: String, _ parameters: [Parameter] = [], label: String? = nil, isRepeated: Bool = false) {
    self.sql = sql
    self.parameters = parameters
    self.label = label
    self.isRepeated = isRepeated
  }

  /// What errors call it.
  var name: String { label ?? ServerText.label(sql) }
}

extension SQLStatement {
  /// Whether it calls functions and reads tables by names with their schema and does nothing else, so that the search path is
  /// of no account: it has no operator, no cast, and no word that stands for an operator.
  var namesSchemas: Bool {
    var words = NameReader(sql)
    return words.areQualified()
  }

  /// The same, to be sent whole: what is parsed beforehand is parsed by the session's own path.
  var unrepeated: SQLStatement { SQLStatement(sql, parameters, label: label) }

  /// Asks for the number of the server's process that answers, a whole number in one column. Behind a pooler it may be
  /// another one than the connection was promised.
  public static let serverProcess = SQLStatement("SELECT pg_catalog.pg_backend_pid()")

  /// Has the names of the statements after it looked for in a path, until the transaction's end.
  static func pin(_ path: String) -> SQLStatement {
    SQLStatement(
      "SELECT pg_catalog.set_config('search_path', $1, true)", [.text(path)], label: "setting the search path"
    )
  }
}

/// Reads a statement word by word.
private struct NameReader {
  /// Words that call an operator or compare.
  private static let comparing: Set<String> = [
    "any", "all", "between", "case", "distinct", "group", "in", "is", "join", "like", "nullif", "using",
  ]

  private let text: [UInt8]
  private var index = 0

  init(_ sql: String) { text = Array(sql.utf8) }

  mutating func areQualified() -> Bool {
    var before = ""
    var endOfSelect = -1
    while index < text.count {
      let byte = text[index]
      if Self.isLetter(byte) {
        let word = word()
        let name = word.lowercased()
        let isQualified = name.hasPrefix("analysis.") || name.hasPrefix("pg_catalog.")
        if Self.comparing.contains(name) { return false }
        if !isQualified, before == "from" || isCall { return false }
        before = name
        if name == "select" { endOfSelect = index }
      } else {
        switch byte {
        case UInt8(ascii: "'"): skip { $0 == UInt8(ascii: "'") }
        case UInt8(ascii: "-") where index + 1 < text.count && text[index + 1] == byte:
          skip { $0 == UInt8(ascii: "\n") }
        case UInt8(ascii: "$"), UInt8(ascii: ","), UInt8(ascii: "("), UInt8(ascii: ")"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          index += 1
        // All columns; anywhere else it multiplies.
        case UInt8(ascii: "*") where endOfSelect >= 0 && text[endOfSelect..<index].allSatisfy(Self.isBlank):
          index += 1
        case _ where Self.isBlank(byte): index += 1
        default: return false
        }
      }
    }
    return true
  }

  /// Whether a parenthesis comes next.
  private var isCall: Bool {
    text[index...].first { !Self.isBlank($0) } == UInt8(ascii: "(")
  }

  private mutating func word() -> String {
    let start = index
    while index < text.count,
      Self.isLetter(text[index]) || Self.isDigit(text[index]) || text[index] == UInt8(ascii: ".")
    {
      index += 1
    }
    return String(decoding: text[start..<index], as: UTF8.self)
  }

  private mutating func skip(to isEnd: (UInt8) -> Bool) {
    index += 1
    while index < text.count, !isEnd(text[index]) { index += 1 }
    index += 1
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n")
  }
}
