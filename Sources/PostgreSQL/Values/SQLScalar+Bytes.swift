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
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    self = text
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
