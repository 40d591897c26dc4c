/// A Swift type with a binary form of its own in PostgreSQL, alone and as an array's element.
///
/// Implemented by this module's own conformances; `Row` and `Parameter` call it.
public protocol SQLScalar: Sendable {
  /// The type a parameter of this Swift type is declared as.
  static var oid: UInt32 { get }
  /// The type of an array of it.
  static var arrayOID: UInt32 { get }
  /// Whether a column of that type can be read as this Swift type without loss.
  static func accepts(_ oid: UInt32) -> Bool
  /// Reads the binary form; nil when the bytes are not of that form.
  init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32)
  /// Appends the binary form.
  func append(to bytes: inout [UInt8])
}

extension SQLScalar {
  /// Whether a column of that type can be read as this Swift type: by default only its own.
  public static func accepts(_ oid: UInt32) -> Bool { oid == Self.oid }
}

extension [UInt8] {
  /// Appends an integer, most significant byte first, as the protocol wants it.
  mutating func appendBigEndian<T: FixedWidthInteger>(_ value: T) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}

extension UnsafeRawBufferPointer {
  /// The integer at an offset, most significant byte first; nil when it does not lie within.
  func bigEndian<T: FixedWidthInteger>(_ type: T.Type, at offset: Int = 0) -> T? {
    guard offset >= 0, offset + MemoryLayout<T>.size <= count else { return nil }
    return T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
  }
}

extension Bool: SQLScalar {
  /// The type `boolean`.
  public static var oid: UInt32 { OID.bool }
  /// The type `boolean[]`.
  public static var arrayOID: UInt32 { OID.boolArray }

  /// Reads one byte.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    guard bytes.count == 1 else { return nil }
    self = bytes[0] != 0
  }

  /// Appends one byte.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(self ? 1 : 0)
  }
}

extension Int16: SQLScalar {
  /// The type `smallint`.
  public static var oid: UInt32 { OID.int2 }
  /// The type `smallint[]`.
  public static var arrayOID: UInt32 { OID.int2Array }

  /// Reads two bytes.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    guard bytes.count == 2, let value = bytes.bigEndian(Int16.self) else { return nil }
    self = value
  }

  /// Appends two bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(self)
  }
}

extension Int32: SQLScalar {
  /// The type `integer`.
  public static var oid: UInt32 { OID.int4 }
  /// The type `integer[]`.
  public static var arrayOID: UInt32 { OID.int4Array }

  /// Reads `integer` and `smallint`.
  public static func accepts(_ oid: UInt32) -> Bool { oid == OID.int4 || oid == OID.int2 }

  /// Reads four bytes, or the two of a `smallint`.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    if oid == OID.int2 {
      guard let value = Int16(binary: bytes, oid: oid) else { return nil }
      self = Int32(value)
    } else {
      guard bytes.count == 4, let value = bytes.bigEndian(Int32.self) else { return nil }
      self = value
    }
  }

  /// Appends four bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(self)
  }
}

extension Int64: SQLScalar {
  /// The type `bigint`.
  public static var oid: UInt32 { OID.int8 }
  /// The type `bigint[]`.
  public static var arrayOID: UInt32 { OID.int8Array }

  /// Reads `bigint`, `integer`, `smallint` and `oid`.
  public static func accepts(_ oid: UInt32) -> Bool {
    oid == OID.int8 || oid == OID.oid || Int32.accepts(oid)
  }

  /// Reads eight bytes, or the fewer of a narrower integer.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    switch oid {
    case OID.int2, OID.int4:
      guard let value = Int32(binary: bytes, oid: oid) else { return nil }
      self = Int64(value)
    case OID.oid:
      guard bytes.count == 4, let value = bytes.bigEndian(UInt32.self) else { return nil }
      self = Int64(value)
    default:
      guard bytes.count == 8, let value = bytes.bigEndian(Int64.self) else { return nil }
      self = value
    }
  }

  /// Appends eight bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(self)
  }
}

extension Double: SQLScalar {
  /// The type `double precision`.
  public static var oid: UInt32 { OID.float8 }
  /// The type `double precision[]`.
  public static var arrayOID: UInt32 { OID.float8Array }

  /// Reads `double precision` and `real`.
  public static func accepts(_ oid: UInt32) -> Bool { oid == OID.float8 || oid == OID.float4 }

  /// Reads eight bytes, or the four of a `real`.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    if oid == OID.float4 {
      guard bytes.count == 4, let bits = bytes.bigEndian(UInt32.self) else { return nil }
      self = Double(Float(bitPattern: bits))
    } else {
      guard bytes.count == 8, let bits = bytes.bigEndian(UInt64.self) else { return nil }
      self = Double(bitPattern: bits)
    }
  }

  /// Appends eight bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.appendBigEndian(bitPattern)
  }
}

extension String: SQLScalar {
  /// The type `text`.
  public static var oid: UInt32 { OID.text }
  /// The type `text[]`.
  public static var arrayOID: UInt32 { OID.textArray }

  /// Reads the character types, `json` and literals of no type.
  public static func accepts(_ oid: UInt32) -> Bool {
    switch oid {
    case OID.text, OID.varchar, OID.bpchar, OID.char, OID.name, OID.json, OID.unknown: true
    default: false
    }
  }

  /// Reads UTF-8; nil when it is not.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    // On short texts a quarter of the time of `String(validating:as:)`: a report has many.
    guard let text = try? UTF8Span(validating: bytes.assumingMemoryBound(to: UInt8.self).span) else {
      return nil
    }
    self.init(copying: text)
  }

  /// Appends UTF-8.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: utf8)
  }
}

extension [UInt8]: SQLScalar {
  /// The type `bytea`.
  public static var oid: UInt32 { OID.bytea }
  /// The type `bytea[]`.
  public static var arrayOID: UInt32 { OID.byteaArray }

  /// Copies the bytes.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    self = [UInt8](bytes)
  }

  /// Appends the bytes.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(contentsOf: self)
  }
}

/// A JSON document as text, for `jsonb`; it is the server that checks its syntax.
public struct JSONText: Sendable, Hashable, SQLScalar {
  /// The document.
  public let text: String

  /// A document from its text.
  public init(_ text: String) {
    self.text = text
  }

  /// The type `jsonb`.
  public static var oid: UInt32 { OID.jsonb }
  /// The type `jsonb[]`.
  public static var arrayOID: UInt32 { OID.jsonbArray }

  /// Reads `jsonb` and `json`.
  public static func accepts(_ oid: UInt32) -> Bool { oid == OID.jsonb || oid == OID.json }

  /// Reads text; that of `jsonb` has a version byte before it, which is 1.
  public init?(binary bytes: UnsafeRawBufferPointer, oid: UInt32) {
    var content = bytes[...]
    if oid == OID.jsonb {
      guard bytes.first == 1 else { return nil }
      content = content.dropFirst()
    }
    guard let text = String(binary: UnsafeRawBufferPointer(rebasing: content), oid: OID.text) else {
      return nil
    }
    self.text = text
  }

  /// Appends the version byte and the text.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(1)
    bytes.append(contentsOf: text.utf8)
  }
}

/// The object identifiers of the built-in types that are read or written here; fixed by PostgreSQL's
/// catalogue (`pg_type.dat`).
enum OID {
  static let bool: UInt32 = 16
  static let bytea: UInt32 = 17
  static let char: UInt32 = 18
  static let name: UInt32 = 19
  static let int8: UInt32 = 20
  static let int2: UInt32 = 21
  static let int4: UInt32 = 23
  static let text: UInt32 = 25
  static let oid: UInt32 = 26
  static let json: UInt32 = 114
  static let float4: UInt32 = 700
  static let float8: UInt32 = 701
  static let unknown: UInt32 = 705
  static let bpchar: UInt32 = 1042
  static let varchar: UInt32 = 1043
  static let timestamp: UInt32 = 1114
  static let timestamptz: UInt32 = 1184
  static let jsonb: UInt32 = 3802

  static let boolArray: UInt32 = 1000
  static let byteaArray: UInt32 = 1001
  static let int2Array: UInt32 = 1005
  static let int4Array: UInt32 = 1007
  static let textArray: UInt32 = 1009
  static let int8Array: UInt32 = 1016
  static let float8Array: UInt32 = 1022
  static let timestamptzArray: UInt32 = 1185
  static let jsonbArray: UInt32 = 3807

  /// Every array type whose elements can be read: the above, and those of char, name, bpchar, varchar,
  /// float4, oid, timestamp and json.
  static let arrays: Set<UInt32> = [
    boolArray, byteaArray, int2Array, int4Array, textArray, int8Array, float8Array, timestamptzArray,
    jsonbArray, 1002, 1003, 1014, 1015, 1021, 1028, 1115, 199,
  ]
}
