/// A function or procedure as the SQL of this program defines it.
struct FunctionDefinition: Sendable, Equatable {
  /// Its name without the schema's.
  let name: String
  /// How many parameters it takes; those that it only answers are not among them.
  let parameters: Int
  /// What stands between its dollar quotes, which the server keeps as it is.
  let body: String
  /// Whether it runs with its owner's rights.
  let hasOwnersRights: Bool
  /// Its settings, as the server writes them but for capitals in names: `search_path=pg_catalog, pg_temp`.
  let settings: Set<String>

  /// What each function that has settings fixes: to compile a statement takes longer than most of them run.
  static let uncompiled = "jit=off"

  /// What each function with its owner's rights fixes beside its own settings, as the server writes it: what a caller's
  /// session could print of the statements within, or change of what they mean and store.
  static let contract = [
    uncompiled, "client_min_messages=notice", "standard_conforming_strings=on", "array_nulls=on",
    "transform_null_equals=off",
    "quote_all_identifiers=off", "DateStyle=ISO, MDY", "IntervalStyle=postgres", "TimeZone=UTC",
    "extra_float_digits=1", "bytea_output=hex",
  ]

  /// The settings that the server is to have.
  var settingsInForce: Set<String> {
    let fixed = hasOwnersRights ? Self.contract : settings.isEmpty ? [] : [Self.uncompiled]
    return settings.union(fixed.map(Self.setting))
  }

  private static let quote = "$$"
  private static let creations = [
    "CREATE OR REPLACE FUNCTION analysis.", "CREATE FUNCTION analysis.",
    "CREATE OR REPLACE PROCEDURE analysis.",
  ]
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

  private static func parameters(in list: Substring) -> Int {
    var depth = 0
    var parameters: [String] = [""]
    for character in list {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if character == ",", depth == 0 {
        parameters.append("")
      } else {
        parameters[parameters.count - 1].append(character)
      }
    }
    return parameters.count { parameter in
      let words = parameter.split(whereSeparator: \.isWhitespace)
      return !words.isEmpty && words[0] != "OUT"
    }
  }

  /// A setting of the server, its name in small letters: the server writes `TimeZone`.
  static func setting(_ text: String) -> String {
    let name = text.prefix { $0 != "=" }
    return name.lowercased() + text.dropFirst(name.count)
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

/// A trigger as the SQL of this program defines it, or as the server has it.
struct TriggerDefinition: Sendable, Equatable {
  /// Its table, without the schema's name.
  let table: String
  let name: String
  /// Its statement, with single blanks and the events in one order.
  let text: String

  private static let creations = ["CREATE TRIGGER ", "CREATE CONSTRAINT TRIGGER "]
  private static let removal = "DROP TRIGGER "

  /// The triggers that there are when a text has been run after others.
  static func apply(_ text: String, to defined: inout [TriggerDefinition]) {
    let lines = text.split(separator: "\n")
    for (number, line) in lines.enumerated() {
      if line.hasPrefix(removal) {
        let words = line.dropFirst(removal.count).split { $0 == " " || $0 == ";" }
        guard words.count >= 3 else { continue }
        defined.removeAll { $0.name == words[0] && "analysis.\($0.table)" == words[2] }
      } else if creations.contains(where: { line.hasPrefix($0) }) {
        let statement = lines[number...].joined(separator: " ").prefix { $0 != ";" }
        if let trigger = TriggerDefinition(statement) { defined.append(trigger) }
      }
    }
  }

  init?(_ statement: some StringProtocol) {
    let words = String(statement).split(whereSeparator: \.isWhitespace).map(String.init)
    guard let name = words.firstIndex(of: "TRIGGER").map({ $0 + 1 }), let on = words.firstIndex(of: "ON"),
      name + 2 < on, on + 1 < words.count
    else { return nil }
    let events = words[(name + 2)..<on].split(separator: "OR").map { $0.joined(separator: " ") }.sorted()
    table = String(words[on + 1].drop { $0 != "." }.dropFirst())
    self.name = words[name]
    text = (words[..<(name + 2)] + [events.joined(separator: " OR ")] + words[on...]).joined(separator: " ")
  }
}
