import Foundation

/// Any JSON value, read by Foundation's decoder.
enum ReadJSON: Decodable, Equatable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  case null
  case boolean(Bool)
  case number(Double)
  case text(String)
  case list([ReadJSON])
  case object([String: ReadJSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([ReadJSON].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: ReadJSON].self))
    }
  }

  init(stringLiteral value: String) { self = .text(value) }
  init(integerLiteral value: Int) { self = .number(Double(value)) }
  init(floatLiteral value: Double) { self = .number(value) }
  init(booleanLiteral value: Bool) { self = .boolean(value) }
  init(nilLiteral: ()) { self = .null }

  subscript(_ key: String) -> ReadJSON? {
    guard case .object(let fields) = self else { return nil }
    return fields[key]
  }

  var list: [ReadJSON]? {
    guard case .list(let values) = self else { return nil }
    return values
  }
}
