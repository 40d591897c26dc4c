import Operations

/// A function as a group's text defines it.
struct FunctionBody: Sendable, Equatable {
  /// Its name without the schema's.
  let name: String
  /// What stands between its dollar quotes, which the server keeps as it is.
  let body: String

  private static let head = "CREATE OR REPLACE FUNCTION analysis."
  private static let quote = "$$"

  /// The functions that a text defines.
  static func parse(_ text: String) -> [FunctionBody] {
    var found: [FunctionBody] = []
    var rest = text[...]
    while let start = rest.firstRange(of: head) {
      rest = rest[start.upperBound...]
      guard let parameters = rest.firstIndex(of: "("), let opening = rest.firstRange(of: quote) else { break }
      let name = String(rest[..<parameters])
      rest = rest[opening.upperBound...]
      guard let closing = rest.firstRange(of: quote) else { break }
      found.append(FunctionBody(name: name, body: String(rest[..<closing.lowerBound])))
      rest = rest[closing.upperBound...]
    }
    return found
  }
}

extension SchemaState {
  /// The functions that the database should have as this program knows them, and has not: somebody replaced or
  /// dropped them by hand. Groups that are to be applied anew are left out.
  ///
  /// - Parameter present: the bodies that the database has, by name.
  func altered(present: [String: Set<String>]) -> [String] {
    let applied = source.functions.filter { functions[$0.name] == SHA256.hexadecimal(of: $0.text) }
    let expected = applied.flatMap { FunctionBody.parse($0.text) }
    return expected.filter { !(present[$0.name]?.contains($0.body) ?? false) }.map(\.name).sorted()
  }
}
