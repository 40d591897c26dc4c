import AnalysisCore
import Formatting

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

  /// The JSON on one line; in it every character is printable.
  var text: String {
    var json = JSONWriter()
    write(to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.raw("null")
    case .bool(let value): json.boolean(value)
    case .number(let value): json.raw(String(value))
    case .decimal(let value): json.raw(value.isFinite ? "\(value)" : "null")
    case .string(let value): json.string(value)
    case .array(let values): json.array(values) { $1.write(to: &$0) }
    case .object(let members):
      json.raw("{")
      for (index, member) in members.enumerated() {
        if index > 0 { json.raw(",") }
        json.string(member.name)
        json.raw(":")
        member.value.write(to: &json)
      }
      json.raw("}")
    case .raw(let text): json.foreign(text)
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
