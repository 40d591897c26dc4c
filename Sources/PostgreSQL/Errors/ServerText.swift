import Formatting

/// What may be kept of the server's and libpq's own words.
enum ServerText {
  /// SQLSTATE classes whose detail speaks of objects, locks and resources, never of row values.
  private static let detailClasses: Set<Substring> = [
    "0A", "25", "2B", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
  ]

  /// A server's primary message; class 22 quotes the value it could not take.
  static func message(_ text: String, sqlState: String) -> String {
    sqlState.hasPrefix("22") ? Redaction.withoutQuoted(text) : text
  }

  /// A server's detail, or nil where it may hold row values ("Key (email)=(…) already exists").
  static func detail(_ text: String?, sqlState: String) -> String? {
    detailClasses.contains(sqlState.prefix(2)) ? text : nil
  }

  /// The lines of a context that name functions; COPY's lines quote the data.
  static func context(_ text: String?) -> String? {
    guard let text else { return nil }
    let lines = text.split(separator: "\n").filter {
      $0.hasPrefix("PL/pgSQL function") || $0.hasPrefix("SQL function")
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// The first words of a statement, enough to find it by; literals, and what comes after, are left out.
  static func label(_ sql: String) -> String {
    var words: [Substring] = []
    var length = 0
    for line in sql.split(separator: "\n", maxSplits: 64) {
      let code = line.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false).first ?? line
      for word in code.split(whereSeparator: \.isWhitespace) {
        if word.contains("'") || word.contains("$$") || words.count == 8 || length > 60 {
          return words.joined(separator: " ") + " …"
        }
        words.append(word)
        length += word.count + 1
      }
    }
    return words.joined(separator: " ")
  }
}
