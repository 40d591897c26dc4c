@testable import Formatting

/// Reads JSON (RFC 8259) from memory, more strictly than most: a name may come once in an object, nesting
/// is bounded, numbers must be finite and texts valid UTF-8 without lone surrogates. What two readers could
/// understand differently is refused.
struct TreeReader {
  /// Deeper nesting is refused: an analysis needs five levels, and recursion costs stack.
  static let greatestDepth = 32

  private static let fewNames = 16

  /// For so many members or elements room is made at once. Few enough that an answer of the greatest length, made
  /// of small objects only, takes no more than some 50 MB for a moment.
  private static let usualCount = 6

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  /// Reads one value that takes up all of the bytes.
  static func read(_ bytes: [UInt8]) throws(JSONFailure) -> JSONValue {
    let result = bytes.withUnsafeBufferPointer { buffer -> Result<JSONValue, JSONFailure> in
      var reader = TreeReader(bytes: buffer)
      do throws(JSONFailure) {
        return .success(try reader.document())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  private mutating func document() throws(JSONFailure) -> JSONValue {
    let value = try value(depth: 0)
    skipBlanks()
    guard position == bytes.count else { throw failure(.trailingBytes) }
    return value
  }

  private mutating func value(depth: Int) throws(JSONFailure) -> JSONValue {
    skipBlanks()
    guard let byte = peek() else { throw failure(.unexpectedEnd) }
    switch byte {
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw failure(.unexpectedByte)
    }
  }

  private mutating func object(depth: Int) throws(JSONFailure) -> JSONValue {
    guard depth <= Self.greatestDepth else { throw failure(.tooDeep) }
    position += 1
    var members: [JSONValue.Member] = []
    var names: Set<String> = []  // filled only for many names: a few are compared faster one by one
    skipBlanks()
    if accept("}") { return .object(members) }
    members.reserveCapacity(Self.usualCount)
    repeat {
      skipBlanks()
      guard peek() == UInt8(ascii: "\"") else { throw unexpected() }
      let start = position
      let name = try string()
      if members.count == Self.fewNames { names = Set(members.lazy.map(\.name)) }
      let isNew =
        members.count < Self.fewNames
        ? !members.contains { $0.name == name } : names.insert(name).inserted
      guard isNew else { throw JSONFailure(reason: .duplicateName, offset: start) }
      skipBlanks()
      guard accept(":") else { throw unexpected() }
      members.append(JSONValue.Member(name: name, value: try value(depth: depth)))
      skipBlanks()
    } while accept(",")
    guard accept("}") else { throw unexpected() }
    return .object(members)
  }

  private mutating func array(depth: Int) throws(JSONFailure) -> JSONValue {
    guard depth <= Self.greatestDepth else { throw failure(.tooDeep) }
    position += 1
    var values: [JSONValue] = []
    skipBlanks()
    if accept("]") { return .array(values) }
    values.reserveCapacity(Self.usualCount)
    repeat {
      values.append(try value(depth: depth))
      skipBlanks()
    } while accept(",")
    guard accept("]") else { throw unexpected() }
    return .array(values)
  }

  private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONFailure) -> JSONValue {
    for index in 0..<text.utf8CodeUnitCount {
      guard peek() == text.utf8Start[index] else { throw unexpected() }
      position += 1
    }
    return value
  }

  private mutating func number() throws(JSONFailure) -> Double {
    let start = position
    _ = accept("-")
    if !accept("0") { try digits() }
    if accept(".") { try digits() }
    if accept("e") || accept("E") {
      if !accept("+") { _ = accept("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    guard let number = Double(text), number.isFinite else {
      throw JSONFailure(reason: .invalidNumber, offset: start)
    }
    return number
  }

  private mutating func digits() throws(JSONFailure) {
    let start = position
    while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    guard position > start else {
      throw JSONFailure(reason: peek() == nil ? .unexpectedEnd : .invalidNumber, offset: position)
    }
  }
}

// MARK: - Texts

extension TreeReader {
  private mutating func string() throws(JSONFailure) -> String {
    position += 1
    let start = position
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        return try text(bytes[start..<position], at: start)
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0..<0x20: throw failure(.invalidText)
      default: position += 1
      }
    }
    throw failure(.unexpectedEnd)
  }

  /// Goes on where the first escape was found; all before it belongs to the text.
  private mutating func escapedString(from start: Int) throws(JSONFailure) -> String {
    var plain = Array(bytes[start..<position])
    while let byte = peek() {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try text(plain[...], at: start)
      case UInt8(ascii: "\\"): plain.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20: throw JSONFailure(reason: .invalidText, offset: position - 1)
      default: plain.append(byte)
      }
    }
    throw failure(.unexpectedEnd)
  }

  private mutating func escape() throws(JSONFailure) -> Unicode.Scalar {
    guard let byte = peek() else { throw failure(.unexpectedEnd) }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape()
    default: throw JSONFailure(reason: .invalidText, offset: position - 1)
    }
  }

  private mutating func unicodeEscape() throws(JSONFailure) -> Unicode.Scalar {
    let start = position
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xD800..<0xDC00).contains(first), accept("\\"), accept("u") else {
      throw JSONFailure(reason: .invalidText, offset: start)
    }
    let second = try codeUnit()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    else {
      throw JSONFailure(reason: .invalidText, offset: start)
    }
    return scalar
  }

  private mutating func codeUnit() throws(JSONFailure) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek() else { throw failure(.unexpectedEnd) }
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw failure(.invalidText) }
      unit = unit << 4 | UInt16(digit)
      position += 1
    }
    return unit
  }

  private func text(_ bytes: some Collection<UInt8>, at start: Int) throws(JSONFailure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw JSONFailure(reason: .invalidText, offset: start)
    }
    return text
  }
}

// MARK: - Bytes

extension TreeReader {
  private func peek() -> UInt8? {
    position < bytes.count ? bytes[position] : nil
  }

  private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: scalar) else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private func unexpected() -> JSONFailure {
    failure(peek() == nil ? .unexpectedEnd : .unexpectedByte)
  }

  private func failure(_ reason: JSONFailure.Reason) -> JSONFailure {
    JSONFailure(reason: reason, offset: position)
  }
}
