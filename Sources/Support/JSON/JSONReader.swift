/// Reads JSON (RFC 8259) from memory, more strictly than most: a name may come once in an object, nesting
/// is bounded, numbers must be finite and texts valid UTF-8 without lone surrogates. What two readers could
/// understand differently is refused. A byte order mark at the beginning is passed over, as section 8.1 allows.
///
/// It goes over the bytes once and makes a value of nothing: it notes where each one lies (`JSONPlaces`), and whoever
/// asks for one has that one made.
public struct JSONReader {
  /// Deeper nesting is refused: an analysis needs five levels, and recursion costs stack.
  static let greatestDepth = 32

  private static let fewNames = 16

  /// So many bytes of an answer bring a value or a name, as a rule.
  private static let usualSpacing = 12

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position: Int
  private var places: [JSONPlace] = []

  /// Reads one value that takes up all of the bytes.
  public static func read(_ bytes: [UInt8]) throws(JSONFailure) -> JSONPart {
    let result = bytes.withUnsafeBufferPointer { buffer -> Result<[JSONPlace], JSONFailure> in
      var reader = JSONReader(buffer)
      reader.places.reserveCapacity(buffer.count / usualSpacing + 8)
      do throws(JSONFailure) {
        try reader.document()
        return .success(reader.places)
      } catch {
        return .failure(error)
      }
    }
    return JSONPart(JSONPlaces(bytes, try result.get()), at: 0)
  }

  private init(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  private mutating func document() throws(JSONFailure) {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position += 3 }
    try value(depth: 0)
    skipBlanks()
    guard position == bytes.count else { throw failure(.trailingBytes) }
  }

  private mutating func value(depth: Int) throws(JSONFailure) {
    skipBlanks()
    guard let byte = peek() else { throw failure(.unexpectedEnd) }
    switch byte {
    case UInt8(ascii: "\""): try text()
    case UInt8(ascii: "{"): try object(depth: depth + 1)
    case UInt8(ascii: "["): try array(depth: depth + 1)
    case UInt8(ascii: "t"): try word("true", .yes)
    case UInt8(ascii: "f"): try word("false", .no)
    case UInt8(ascii: "n"): try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw failure(.unexpectedByte)
    }
  }

  private mutating func object(depth: Int) throws(JSONFailure) {
    guard depth <= Self.greatestDepth else { throw failure(.tooDeep) }
    let object = note(.object, from: position, 0)
    position += 1
    var count = 0
    var names: Set<String> = []  // filled only for many names: a few are compared faster one by one
    skipBlanks()
    if accept("}") { return }
    repeat {
      skipBlanks()
      guard peek() == UInt8(ascii: "\"") else { throw unexpected() }
      let start = position
      let name = places.count
      try text()
      let isNew =
        count < Self.fewNames
        ? !isName(name, amongFirst: count, of: object)
        : add(name, to: &names, amongFirst: count, of: object)
      guard isNew else { throw JSONFailure(reason: .duplicateName, offset: start) }
      skipBlanks()
      guard accept(":") else { throw unexpected() }
      try value(depth: depth)
      count += 1
      skipBlanks()
    } while accept(",")
    guard accept("}") else { throw unexpected() }
    places[object].end(at: places.count, count)
  }

  private mutating func array(depth: Int) throws(JSONFailure) {
    guard depth <= Self.greatestDepth else { throw failure(.tooDeep) }
    let array = note(.array, from: position, 0)
    position += 1
    var count = 0
    skipBlanks()
    if accept("]") { return }
    repeat {
      try value(depth: depth)
      count += 1
      skipBlanks()
    } while accept(",")
    guard accept("]") else { throw unexpected() }
    places[array].end(at: places.count, count)
  }

  private mutating func word(_ text: StaticString, _ kind: JSONPlace.Kind) throws(JSONFailure) {
    let start = position
    for index in 0..<text.utf8CodeUnitCount {
      guard peek() == text.utf8Start[index] else { throw unexpected() }
      position += 1
    }
    note(kind, from: start, position - start)
  }

  private mutating func number() throws(JSONFailure) {
    let start = position
    _ = accept("-")
    if !accept("0") { try digits() }
    if accept(".") { try digits() }
    var isFinite = position - start < Self.digitsOfFinite
    if accept("e") || accept("E") {
      isFinite = false
      if !accept("+") { _ = accept("-") }
      try digits()
    }
    guard
      isFinite || JSONPlace.number(UnsafeBufferPointer(rebasing: bytes[start..<position]))?.isFinite == true
    else {
      throw JSONFailure(reason: .invalidNumber, offset: start)
    }
    note(.number, from: start, position - start)
  }

  /// A number with fewer digits, and without an exponent, is below 10^300.
  private static let digitsOfFinite = 300

  private mutating func digits() throws(JSONFailure) {
    let start = position
    while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
    guard position > start else {
      throw JSONFailure(reason: peek() == nil ? .unexpectedEnd : .invalidNumber, offset: position)
    }
  }
}

// MARK: - Names

extension JSONReader {
  /// Whether a name is one of the first of an object.
  private func isName(_ name: Int, amongFirst count: Int, of object: Int) -> Bool {
    var index = object + 1
    for _ in 0..<count {
      if isSame(index, as: name) { return true }
      index = places[index + 1].next
    }
    return false
  }

  /// Adds a name to the names of an object with many, and says whether it is new.
  private func add(_ name: Int, to names: inout Set<String>, amongFirst count: Int, of object: Int) -> Bool {
    var index = object + 1
    while names.count < count {
      names.insert(places[index].string(bytes))
      index = places[index + 1].next
    }
    return names.insert(places[name].string(bytes)).inserted
  }

  /// Whether two names are the same text; where both are plain, their bytes say it.
  private func isSame(_ one: Int, as other: Int) -> Bool {
    let (one, other) = (places[one], places[other])
    guard one.isPlain, other.isPlain else { return one.string(bytes) == other.string(bytes) }
    return one.content(bytes).elementsEqual(other.content(bytes))
  }
}

// MARK: - Texts

extension JSONReader {
  /// Notes a text and goes past it.
  private mutating func text() throws(JSONFailure) {
    position += 1
    let start = position
    var isEscaped = false
    var odd: UInt64 = 0
    while true {
      odd |= passUsual()
      guard let byte = peek() else { throw failure(.unexpectedEnd) }
      if byte == UInt8(ascii: "\"") { break }
      guard byte == UInt8(ascii: "\\") else { throw failure(.invalidText) }
      isEscaped = true
      position += 1
      _ = try escape()
    }
    // An escape is ASCII and stands for a whole character, so the bytes are UTF-8 where the text is.
    guard odd == 0 || Self.isUTF8(bytes[start..<position]) else {
      throw JSONFailure(reason: .invalidText, offset: start)
    }
    note(isEscaped ? .escapedText : odd == 0 ? .plainText : .text, from: start, position - start)
    position += 1
  }

  /// Goes on to the next quotation mark, backslash or control character below the space, eight bytes at a time. It
  /// returns 0 where all on the way is printable ASCII.
  private mutating func passUsual() -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let words = UnsafeRawBufferPointer(bytes)
    var odd: UInt64 = 0
    while position + 8 <= bytes.count {
      let word = UInt64(littleEndian: words.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      // The lowest byte of which the top bit is set here is the first that ends the way: a byte that is what is looked
      // for is 0 here, and 0 less 1 sets the bit. Only bytes above it may be wrong, by what was borrowed.
      let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
      let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
      let control = (word &- ones &* 0x20) & ~word
      let ends = ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | control) & tops
      // The top bit of a byte is set where it is from 7F.
      let isOdd = (word | (word &+ ones)) & tops
      guard ends == 0 else {
        let passed = ends.trailingZeroBitCount / 8
        position += passed
        return odd | isOdd & (1 << UInt64(8 * passed) &- 1)
      }
      odd |= isOdd
      position += 8
    }
    while let byte = peek(), byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
      if byte >= 0x7F { odd = tops }
      position += 1
    }
    return odd
  }

  private static func isUTF8(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    do {
      _ = try UTF8Span(validating: UnsafeBufferPointer(rebasing: bytes).span)
      return true
    } catch {
      return false
    }
  }

  /// The text that bytes with escapes stand for, which were read before.
  static func unescaped(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    var reader = JSONReader(bytes)
    var plain: [UInt8] = []
    plain.reserveCapacity(bytes.count)
    while let byte = reader.peek() {
      reader.position += 1
      if byte != UInt8(ascii: "\\") {
        plain.append(byte)
      } else if let scalar = try? reader.escape() {
        plain.append(contentsOf: String(scalar).utf8)
      }
    }
    return String(decoding: plain, as: UTF8.self)
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
}

// MARK: - Bytes

extension JSONReader {
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

  /// Notes that a value or a name lies here; what is in it follows.
  @discardableResult private mutating func note(_ kind: JSONPlace.Kind, from start: Int, _ count: Int) -> Int
  {
    places.append(JSONPlace(kind, from: start, count, next: places.count + 1))
    return places.count - 1
  }
}

/// Why bytes are not the JSON that is accepted here.
public struct JSONFailure: Error, Equatable {
  /// What is wrong.
  public enum Reason: String, Sendable {
    /// The bytes end too early.
    case unexpectedEnd = "ends too early"
    /// A character does not belong there.
    case unexpectedByte = "has a character that does not belong there"
    /// Something follows the value.
    case trailingBytes = "goes on after its end"
    /// The nesting is too deep.
    case tooDeep = "is nested too deeply"
    /// An object names a field twice.
    case duplicateName = "names a field twice"
    /// A text is not valid.
    case invalidText = "has a text that is not valid"
    /// A number is malformed or too large.
    case invalidNumber = "has a number that is malformed or too large"
  }

  /// What is wrong.
  public let reason: Reason
  /// Where, in bytes from the beginning.
  public let offset: Int
}
