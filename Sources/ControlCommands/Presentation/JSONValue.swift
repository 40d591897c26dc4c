import AnalysisCore

/// JSON whose members stay in the order in which they are written down.
enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(Int64)
  case decimal(Double)
  case string(String)
  case array([JSONValue])
  case object([Member])
  /// What is JSON already, on one line.
  case raw(String)

  struct Member: Sendable, Equatable {
    let name: String
    let value: JSONValue
  }

  /// A text, or null.
  static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

  /// A whole number, or null.
  static func count(_ number: (some BinaryInteger)?) -> JSONValue {
    number.map { .number(Int64($0)) } ?? .null
  }

  /// A job's number as text, or null.
  static func id(_ job: JobID?) -> JSONValue { text(job?.description) }

  /// A month, or null.
  static func month(_ period: Period?) -> JSONValue { text(period?.description) }

  /// A moment in RFC 3339, or null.
  static func time(_ seconds: Double?) -> JSONValue { text(seconds.flatMap(Moment.exact)) }

  /// The text without line breaks outside of strings, which hold none either: it is one line.
  var text: String {
    var output = ""
    write(to: &output)
    return output
  }

  private func write(to output: inout String) {
    switch self {
    case .null: output += "null"
    case .bool(let value): output += value ? "true" : "false"
    case .number(let value): output += String(value)
    case .decimal(let value): output += value.isFinite ? "\(value)" : "null"
    case .string(let value): Self.write(value, to: &output)
    case .array(let values):
      output += "["
      for (index, value) in values.enumerated() {
        if index > 0 { output += "," }
        value.write(to: &output)
      }
      output += "]"
    case .object(let members):
      output += "{"
      for (index, member) in members.enumerated() {
        if index > 0 { output += "," }
        Self.write(member.name, to: &output)
        output += ":"
        member.value.write(to: &output)
      }
      output += "}"
    case .raw(let json):
      for scalar in json.unicodeScalars {
        // White space between values; in a text JSON has none of these.
        if scalar.value < 0x20 {
          output.unicodeScalars.append(scalar)
        } else {
          Self.write(shown: scalar, to: &output)
        }
      }
    }
  }

  private static func write(_ text: String, to output: inout String) {
    output += "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\r": output += "\\r"
      case "\t": output += "\\t"
      default: write(shown: scalar, to: &output)
      }
    }
    output += "\""
  }

  /// Writes what a reader sees as it is and all else by number: control characters, what a script of JavaScript takes
  /// for one, and what hides text or turns its order round on a terminal.
  private static func write(shown scalar: Unicode.Scalar, to output: inout String) {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator:
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    default: output.unicodeScalars.append(scalar)
    }
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
  init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(members.map { Member(name: $0.0, value: $0.1) })
  }

  init(arrayLiteral values: JSONValue...) { self = .array(values) }

  init(stringLiteral text: String) { self = .string(text) }

  init(booleanLiteral value: Bool) { self = .bool(value) }

  init(integerLiteral value: Int64) { self = .number(value) }
}
