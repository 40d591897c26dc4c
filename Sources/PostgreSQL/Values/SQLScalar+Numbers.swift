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
