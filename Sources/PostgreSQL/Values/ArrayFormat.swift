/// The binary form of one-dimensional arrays: dimensions, a flag for NULLs, the elements' type, the
/// length and lower bound of each dimension, and each element after its length (-1 for NULL).
enum ArrayFormat {
  /// Encodes elements of which none is NULL.
  @specialized(where T == Int16)
  @specialized(where T == Int32)
  @specialized(where T == Int64)
  @specialized(where T == Double)
  @specialized(where T == Bool)
  @specialized(where T == String)
  @specialized(where T == JSONText)
  static func encode<T: SQLScalar>(_ values: [T]) -> [UInt8] {
    var bytes = header(T.self, count: values.count, hasNull: false)
    // By address in memory: for a type that is not among those above, an iterator would allocate for each element.
    values.withUnsafeBufferPointer { values in
      for index in 0..<values.count { append(values[index], to: &bytes) }
    }
    return bytes
  }

  /// Encodes elements of which nil is NULL.
  @specialized(where T == Int16)
  @specialized(where T == Int32)
  @specialized(where T == Int64)
  @specialized(where T == Double)
  @specialized(where T == Bool)
  @specialized(where T == String)
  @specialized(where T == Timestamp)
  static func encode<T: SQLScalar>(_ values: [T?]) -> [UInt8] {
    values.withUnsafeBufferPointer { values in
      var hasNull = false
      for index in 0..<values.count where values[index] == nil { hasNull = true }
      var bytes = header(T.self, count: values.count, hasNull: hasNull)
      for index in 0..<values.count {
        if let value = values[index] {
          append(value, to: &bytes)
        } else {
          bytes.appendBigEndian(Int32(-1))
        }
      }
      return bytes
    }
  }

  private static func header<T: SQLScalar>(_ type: T.Type, count: Int, hasNull: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + count * 12)
    bytes.appendBigEndian(Int32(count == 0 ? 0 : 1))
    bytes.appendBigEndian(Int32(hasNull ? 1 : 0))
    bytes.appendBigEndian(T.oid)
    guard count > 0 else { return bytes }
    bytes.appendBigEndian(Int32(count))
    bytes.appendBigEndian(Int32(1))
    return bytes
  }

  /// The length comes before the element, which has to be written to be known.
  private static func append<T: SQLScalar>(_ value: T, to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.appendBigEndian(Int32(0))
    value.append(to: &bytes)
    let length = UInt32(bytes.count - start - 4)
    for byte in 0..<4 { bytes[start + byte] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * byte)) }
  }

  /// The elements; nil when the bytes are no array of at most one dimension with elements of that type.
  static func decode<T: SQLScalar>(_ bytes: UnsafeRawBufferPointer, of type: T.Type) -> [T?]? {
    guard let dimensions = bytes.bigEndian(Int32.self), let element = bytes.bigEndian(UInt32.self, at: 8),
      T.accepts(element)
    else { return nil }
    if dimensions == 0 { return [] }
    guard dimensions == 1, let count = bytes.bigEndian(Int32.self, at: 12), count >= 0 else { return nil }
    var values: [T?] = []
    values.reserveCapacity(min(Int(count), bytes.count / 4))
    var offset = 20
    for _ in 0..<count {
      guard let length = bytes.bigEndian(Int32.self, at: offset) else { return nil }
      offset += 4
      guard length >= 0 else {
        values.append(nil)
        continue
      }
      guard offset + Int(length) <= bytes.count else { return nil }
      let content = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(length)])
      guard let value = T(binary: content, oid: element) else { return nil }
      values.append(value)
      offset += Int(length)
    }
    return values
  }
}
