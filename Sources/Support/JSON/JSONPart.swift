/// A value of JSON that was read. It is a place in the bytes: a text or number is made of them when it is asked for, so
/// that of a long answer only what is wanted costs anything.
public struct JSONPart: Sendable {
  private let places: JSONPlaces
  private let index: Int

  init(_ places: JSONPlaces, at index: Int) {
    self.places = places
    self.index = index
  }

  /// The value `null`, by itself.
  public static let null = JSONPart(
    JSONPlaces(Array("null".utf8), [JSONPlace(.null, from: 0, 4, next: 1)]), at: 0)

  private var place: JSONPlace { places.list[index] }

  /// The value of a name, which is ASCII; nil when this is no object or has no such name, or the value is `null`.
  public subscript(_ name: String) -> JSONPart? {
    guard let member = places.member(name, of: index), places.list[member].kind != .null else { return nil }
    return JSONPart(places, at: member)
  }

  /// Whether this is an object with such a name, which is ASCII, be its value `null`.
  public func has(_ name: String) -> Bool { places.member(name, of: index) != nil }

  /// Whether this is an object.
  public var isObject: Bool { place.kind == .object }

  /// How many members the object has; nil for any other value.
  public var memberCount: Int? { isObject ? place.count : nil }

  /// What an array holds; nil for any other value.
  public var elements: Elements? {
    place.kind == .array ? Elements(count: place.count, places: places, index: index + 1) : nil
  }

  /// The text; nil for any other value.
  public var text: String? { place.isText ? places.bytes.withUnsafeBufferPointer(place.string) : nil }

  /// Whether this is a text of printable ASCII that is written without escapes. One that is not known to be such may be.
  public var isPlainText: Bool { place.isPlain }

  /// The number; nil for any other value.
  public var number: Double? {
    place.kind == .number ? places.bytes.withUnsafeBufferPointer { JSONPlace.number(place.content($0)) } : nil
  }

  /// The truth value; nil for any other value.
  public var bool: Bool? {
    switch place.kind {
    case .yes: true
    case .no: false
    default: nil
    }
  }

  /// All of it as a value that can be written.
  public var value: JSONValue {
    switch place.kind {
    case .null: .null
    case .yes: .bool(true)
    case .no: .bool(false)
    case .number: .number(number ?? 0)
    case .plainText, .text, .escapedText: .text(text)
    case .array: .array((elements.map(Array.init) ?? []).map(\.value))
    case .object: .object(places.members(of: index))
    }
  }

  /// The elements of an array, in order.
  public struct Elements: Sequence, IteratorProtocol, Sendable {
    /// How many there are, or are left.
    public private(set) var count: Int
    fileprivate let places: JSONPlaces
    fileprivate var index: Int

    /// The next one.
    public mutating func next() -> JSONPart? {
      guard count > 0 else { return nil }
      defer {
        count -= 1
        index = places.list[index].next
      }
      return JSONPart(places, at: index)
    }
  }
}

/// What a reader noted of bytes: a place for each value and each name, in their order. An object is followed by its
/// members, each a name and its value, and an array by its elements.
final class JSONPlaces: Sendable {
  let bytes: [UInt8]
  let list: [JSONPlace]

  init(_ bytes: [UInt8], _ list: [JSONPlace]) {
    self.bytes = bytes
    self.list = list
  }

  /// The place of the value of a name, which is ASCII.
  func member(_ name: String, of object: Int) -> Int? {
    guard list[object].kind == .object else { return nil }
    var name = name
    return name.withUTF8 { wanted in
      bytes.withUnsafeBufferPointer { bytes in
        var index = object + 1
        for _ in 0..<list[object].count {
          if list[index].isNamed(wanted, bytes) { return index + 1 }
          index = list[index + 1].next
        }
        return nil
      }
    }
  }

  func members(of object: Int) -> [JSONValue.Member] {
    var index = object + 1
    return (0..<list[object].count).map { _ in
      defer { index = list[index + 1].next }
      return JSONValue.Member(
        name: JSONPart(self, at: index).text ?? "", value: JSONPart(self, at: index + 1).value)
    }
  }
}

/// Where a value or a name lies in bytes.
struct JSONPlace: Sendable {
  enum Kind: UInt8 {
    case null, yes, no, number, array, object
    /// Printable ASCII without escapes.
    case plainText
    case text
    case escapedText
  }

  let kind: Kind
  private let first: UInt32
  private var size: UInt32
  private var after: UInt32

  init(_ kind: Kind, from start: Int, _ count: Int, next: Int) {
    self.kind = kind
    first = UInt32(start)
    size = UInt32(count)
    after = UInt32(next)
  }

  /// The end of an array or object is known when it was read.
  mutating func end(at next: Int, _ count: Int) {
    size = UInt32(count)
    after = UInt32(next)
  }

  /// How many bytes a text has between its quotation marks, a number or a word; how many elements or members.
  var count: Int { Int(size) }
  /// The index of the place behind all that is in this value.
  var next: Int { Int(after) }
  var isPlain: Bool { kind == .plainText }
  var isText: Bool { kind.rawValue >= Kind.plainText.rawValue }

  /// The bytes of a text, number or word.
  func content(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes[Int(first)..<Int(first) + count])
  }

  func string(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    kind == .escapedText
      ? JSONReader.unescaped(content(bytes)) : String(decoding: content(bytes), as: UTF8.self)
  }

  /// Whether it is a name, which is ASCII.
  func isNamed(_ name: UnsafeBufferPointer<UInt8>, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard isPlain else { return string(bytes) == String(decoding: name, as: UTF8.self) }
    return count == name.count && content(bytes).elementsEqual(name)
  }

  /// The number that digits say.
  static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Double? {
    Double(String(decoding: digits, as: UTF8.self))
  }
}
