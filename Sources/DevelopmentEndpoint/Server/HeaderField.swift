/// A header's value with its parameters: `form-data; name="image"; filename="a.jpg"`.
struct HeaderField {
  /// What stands before the parameters, in small letters.
  let value: String
  /// By their names in small letters.
  let parameters: [String: String]

  init(_ text: some StringProtocol) {
    var parts: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in text {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
        continue
      } else if character == "\"" {
        isQuoted.toggle()
        continue
      } else if character == ";", !isQuoted {
        parts.append("")
        continue
      }
      parts[parts.count - 1].append(character)
    }
    value = Self.trimmed(parts[0]).lowercased()
    var parameters: [String: String] = [:]
    for part in parts.dropFirst() {
      guard let equals = part.firstIndex(of: "=") else { continue }
      parameters[Self.trimmed(part[..<equals]).lowercased()] = Self.trimmed(
        part[part.index(after: equals)...])
    }
    self.parameters = parameters
  }

  static func trimmed(_ text: some StringProtocol) -> String {
    let start = text.drop { $0 == " " || $0 == "\t" }
    guard let end = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return String(start[...end])
  }
}
