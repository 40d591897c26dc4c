import Foundation
import TestSupport

/// What the sources say of the types into which rows are decoded: from which columns each is read.
struct DecodedTypes {
  /// A type, or an extension of one.
  private struct Declaration {
    let file: String
    let name: String
    let head: String
    let body: String
  }

  private let declarations: [Declaration]

  /// What is read from one column, of the standard library and of what reads rows.
  private static let scalars: Set<String> = [
    "Bool", "Int", "Int16", "Int32", "Int64", "Double", "String", "UInt8", "Timestamp",
  ]

  /// Reads the sources.
  init() throws {
    let files = try Set(["Decodable", "RenamedColumns", "ColumnValue", "Codable"].flatMap(sources(with:)))
    declarations = try files.sorted().flatMap { file in
      let text = try String(contentsOfFile: packagePath("Sources/\(file)"), encoding: .utf8)
      return text.matches(of: #/\b(?:struct|enum|extension)\s+([\w.]+)([^{}]*)\{/#).map { match in
        let name = match.output.1.split(separator: ".").last.map(String.init) ?? ""
        let body = Self.body(text[match.range.upperBound...])
        return Declaration(file: file, name: name, head: String(match.output.2), body: body)
      }
    }
  }

  /// The text up to the brace that closes it.
  private static func body(_ text: Substring) -> String {
    var depth = 1
    let end = text.firstIndex { letter in
      depth += letter == "{" ? 1 : letter == "}" ? -1 : 0
      return depth == 0
    }
    return String(text[..<(end ?? text.endIndex)])
  }

  /// The columns of a type that a file names, without a prefix, and those of its generic arguments; nil for a type that
  /// is read from the only column.
  func columns(of type: String, in file: String, without given: Set<String> = []) throws -> Set<String>? {
    let names = type.matches(of: #/[\w.]+/#).map { String($0.output.split(separator: ".").last ?? "") }
    guard let name = names.first, !isColumn(name, file) else { return nil }
    return try names.reduce(into: []) { $0.formUnion(try properties(of: $1, file, given)) }
  }

  private func isColumn(_ name: String, _ file: String) -> Bool {
    Self.scalars.contains(name)
      || parts(of: name, file).contains { $0.head.contains("ColumnValue") }
  }

  /// A type's declaration and its extensions; those of the file where it has any, since several may have a name.
  private func parts(of name: String, _ file: String) -> [Declaration] {
    let all = declarations.filter { $0.name == name }
    let own = all.filter { $0.file == file }
    return own.isEmpty ? all : own + all.filter { $0.file != file && $0.head.contains("ColumnValue") }
  }

  private func properties(of name: String, _ file: String, _ given: Set<String>) throws -> Set<String> {
    let parts = parts(of: name, file)
    guard let home = parts.first?.file else { throw TestSupportError("no type \(name) is declared") }
    var renamed: [String: String] = [:]
    for part in parts {
      guard let map = part.body.firstMatch(of: #/static let columns = \[([^\]]*)\]/#) else { continue }
      for pair in map.output.1.matches(of: #/"(\w+)":\s*"(\w+)"/#) {
        renamed[String(pair.output.1)] = String(pair.output.2)
      }
    }
    let own = parts.compactMap { Self.written($0.body) }.first
    let found = own ?? parts.flatMap { Self.stored($0.body) }
    return try found.reduce(into: []) { columns, property in
      if given.contains(property.name) { return }
      if property.type.isEmpty || isColumn(property.type, home) {
        columns.insert(Self.column(renamed[property.name] ?? property.name))
      } else if !property.type.matches(of: #/^(?:Item|End)$/#).isEmpty, name == "Found" {
        return
      } else {
        columns.formUnion(try properties(of: property.type, home, given))
      }
    }
  }

  /// What an initializer of the type's own reads; nil where there is none.
  private static func written(_ body: String) -> [(name: String, type: String)]? {
    guard let start = body.firstRange(of: "init(from decoder: any Decoder) throws {") else { return nil }
    let text = Self.body(body[start.upperBound...])
    let keys = text.matches(of: #/decode(?:IfPresent)?\(([\w.]+)\.self, forKey: \.(\w+)\)/#).map { match in
      (name: String(match.output.2), type: match.output.1.split(separator: ".").last.map(String.init) ?? "")
    }
    let empty = text.matches(of: #/decodeNil\(forKey: \.(\w+)\)/#).map { match in
      (name: String(match.output.1), type: "")
    }
    let whole = text.matches(of: #/\b([A-Z]\w*)\(from: decoder\)/#).map { match in
      (name: "", type: String(match.output.1))
    }
    return keys + empty + whole
  }

  /// The stored properties with the types without `?` and brackets.
  private static func stored(_ body: String) -> [(name: String, type: String)] {
    var depth = 0
    return body.split(separator: "\n").flatMap { line -> [(name: String, type: String)] in
      let isOutside = depth == 0
      depth += line.count { $0 == "{" } - line.count { $0 == "}" }
      guard isOutside, !line.contains("{"),
        let match = line.firstMatch(
          of:
            #/^\s*(?:(?:public|package|private|internal)(?:\(set\))? )*(?:let|var) ([^:=]+): ([^=]+?)(?: = .*)?$/#
        )
      else { return [] }
      let type =
        match.output.2.filter { !"[]?".contains($0) }.split(separator: ".").last.map(String.init) ?? ""
      return match.output.1.split(separator: ",").map { name in
        (name: name.filter { $0 != "`" && $0 != " " }, type: type)
      }
    }
  }

  /// `photo_url` for `photoURL`, as the decoder of rows has it.
  private static func column(_ property: String) -> String {
    property.replacing(#/([a-z0-9])([A-Z])/#) { "\($0.output.1)_\($0.output.2)" }
      .replacing(#/([A-Z]+)([A-Z][a-z])/#) { "\($0.output.1)_\($0.output.2)" }.lowercased()
  }
}
