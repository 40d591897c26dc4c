/// A trigger as the SQL of this program defines it, or as the server has it.
struct TriggerDefinition: Sendable, Equatable {
  /// Its table, without the schema's name.
  let table: String
  /// Its own name.
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
