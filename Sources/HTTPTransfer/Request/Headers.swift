/// Header fields in their order, with names that are compared without regard to case.
public struct Headers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// One field.
  public struct Field: Sendable, Equatable {
    /// The name as it was written.
    public let name: String
    /// The value without surrounding blanks.
    public let value: String
  }

  /// The fields in their order.
  public private(set) var fields: [Field] = []

  /// No field.
  public init() {}

  /// The fields of a literal, in its order; a name may come twice.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }

  /// Adds a field behind the others, of the same name too.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// The value of the last field of a name.
  public subscript(_ name: String) -> String? {
    fields.last { Self.equal($0.name, name) }?.value
  }

  /// The values of all fields of a name, in their order.
  public func all(_ name: String) -> [String] {
    fields.filter { Self.equal($0.name, name) }.map(\.value)
  }

  /// Adds a line's continuation to the last field.
  mutating func continueLast(with text: String) {
    guard let last = fields.popLast() else { return }
    fields.append(Field(name: last.name, value: last.value.isEmpty ? text : last.value + " " + text))
  }

  private static func equal(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

/// Which header fields a request may carry (RFC 9110): what is refused here could end a line early and
/// so smuggle a field or a second request.
enum FieldRules {
  /// Written by the transfer itself, since the framing of the request depends on them.
  private static let reserved: Set<String> = [
    "host", "content-length", "content-type", "transfer-encoding", "expect", "connection", "te", "upgrade",
    "accept-encoding", "proxy-authorization", "proxy-connection", "keep-alive", "trailer",
  ]

  /// Whether a text is a token: the characters that a name may have.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// Whether a text has no control character other than a tab.
  static func isValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }

  /// Throws `invalidRequest` for a field that may not be sent. The message names the field, never its value.
  static func check(_ field: Headers.Field) throws(TransferError) {
    guard isToken(field.name) else { throw .invalidRequest("a header's name is not a token") }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .invalidRequest("the header \(field.name) is written by the transfer itself")
    }
    guard isValue(field.value) else {
      throw .invalidRequest("the value of the header \(field.name) has a control character")
    }
  }
}
