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
