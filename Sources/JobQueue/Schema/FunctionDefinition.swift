/// A function as the SQL of this program defines it.
struct FunctionDefinition: Sendable, Equatable {
  /// Its name without the schema's.
  let name: String
  /// How many parameters it takes.
  let parameters: Int
  /// What stands between its dollar quotes, which the server keeps as it is.
  let body: String
  /// Whether it runs with its owner's rights.
  let hasOwnersRights: Bool
  /// Its settings, as the server writes them with a small name: `search_path=pg_catalog, pg_temp`.
  let settings: Set<String>

  private static let quote = "$$"
  private static let creations = ["CREATE OR REPLACE FUNCTION analysis.", "CREATE FUNCTION analysis."]
  private static let removals = ["DROP FUNCTION IF EXISTS analysis.", "DROP FUNCTION analysis."]

  /// The functions that there are when a text has been run after others.
  static func apply(_ text: String, to defined: inout [FunctionDefinition]) {
    // A statement begins its line; what is quoted in a body is passed over.
    var rest = text[...]
    while !rest.isEmpty {
      let line = rest.prefix { $0 != "\n" }
      if let head = creations.first(where: { line.hasPrefix($0) }),
        let (definition, end) = parse(rest.dropFirst(head.count))
      {
        defined.removeAll { $0.name == definition.name && $0.parameters == definition.parameters }
        defined.append(definition)
        rest = rest[end...]
      } else if let head = removals.first(where: { line.hasPrefix($0) }) {
        let removed = line.dropFirst(head.count)
        let name = String(removed.prefix { $0 != "(" && $0 != ";" })
        let count = list(removed).map { parameters(in: $0.text) }
        defined.removeAll { $0.name == name && (count == nil || $0.parameters == count) }
      }
      rest = rest.drop { $0 != "\n" }.dropFirst()
    }
  }

  /// A definition from its name on, and where it ends.
  private static func parse(_ text: Substring) -> (FunctionDefinition, end: String.Index)? {
    guard let parameters = list(text), let opening = text[parameters.end...].firstRange(of: quote),
      let closing = text[opening.upperBound...].firstRange(of: quote)
    else { return nil }
    let attributes = text[parameters.end..<opening.lowerBound]
    let definition = FunctionDefinition(
      name: String(text.prefix { $0 != "(" }), parameters: Self.parameters(in: parameters.text),
      body: String(text[opening.upperBound..<closing.lowerBound]),
      hasOwnersRights: attributes.contains("SECURITY DEFINER"), settings: settings(in: attributes))
    return (definition, closing.upperBound)
  }

  /// What stands in the first parentheses.
  private static func list(_ text: Substring) -> (text: Substring, end: String.Index)? {
    guard let start = text.firstIndex(of: "(") else { return nil }
    var depth = 0
    for index in text[start...].indices {
      if text[index] == "(" { depth += 1 }
      if text[index] == ")" { depth -= 1 }
      if depth == 0 { return (text[text.index(after: start)..<index], text.index(after: index)) }
    }
    return nil
  }

  /// How many of the parameters are given; those that only answer are not.
  private static func parameters(in list: Substring) -> Int {
    var depth = 0
    let given = list.split { character in
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      return character == "," && depth == 0
    }
    return given.count { part in
      let words = part.split(whereSeparator: \.isWhitespace)
      return !words.isEmpty && words[0] != "OUT"
    }
  }

  /// `SET name = value`, each up to the next word of the language.
  private static func settings(in attributes: Substring) -> Set<String> {
    let words = attributes.split(whereSeparator: \.isWhitespace)
    var found: Set<String> = []
    var index = 0
    while index + 3 < words.count {
      guard words[index] == "SET", words[index + 2] == "=" else {
        index += 1
        continue
      }
      var value = [words[index + 3]]
      var next = index + 4
      while value.last?.last == ",", next < words.count {
        value.append(words[next])
        next += 1
      }
      found.insert("\(words[index + 1].lowercased())=\(value.joined(separator: " ").filter { $0 != "'" })")
      index = next
    }
    return found
  }
}
