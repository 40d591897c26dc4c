internal import Clibpq

/// A statement's parameter: its type and its value in binary form.
///
/// The type is always given, so that functions resolve as written: there is no integer literal, since
/// `1` does not say which width the function wants.
public struct Parameter: Sendable {
  enum Payload: Sendable {
    case null
    /// Up to eight bytes, in the low end, and how many.
    case word(UInt64, Int)
    case text(String)
    case bytes([UInt8])
  }

  let oid: UInt32
  let payload: Payload

  init(oid: UInt32, _ payload: Payload?) {
    self.oid = oid
    self.payload = payload ?? .null
  }

  /// A `boolean`.
  public static func bool(_ value: Bool?) -> Parameter {
    Parameter(oid: OID.bool, value.map { .word($0 ? 1 : 0, 1) })
  }

  /// A `smallint`.
  public static func int16(_ value: Int16?) -> Parameter {
    Parameter(oid: OID.int2, value.map { .word(UInt64(UInt16(bitPattern: $0)), 2) })
  }

  /// An `integer`.
  public static func int32(_ value: Int32?) -> Parameter {
    Parameter(oid: OID.int4, value.map { .word(UInt64(UInt32(bitPattern: $0)), 4) })
  }

  /// A `bigint`.
  public static func int64(_ value: Int64?) -> Parameter {
    Parameter(oid: OID.int8, value.map { .word(UInt64(bitPattern: $0), 8) })
  }

  /// A `double precision`.
  public static func double(_ value: Double?) -> Parameter {
    Parameter(oid: OID.float8, value.map { .word($0.bitPattern, 8) })
  }

  /// A `text`. PostgreSQL refuses text with a NUL character.
  public static func text(_ value: String?) -> Parameter {
    Parameter(oid: OID.text, value.map { .text($0) })
  }

  /// A `bytea`, handed to libpq where it lies.
  public static func bytes(_ value: [UInt8]?) -> Parameter {
    Parameter(oid: OID.bytea, value.map { .bytes($0) })
  }

  /// A `timestamptz`.
  public static func timestamp(_ value: Timestamp?) -> Parameter {
    Parameter(oid: OID.timestamptz, value.map { .word(UInt64(bitPattern: $0.microsecondsSince2000), 8) })
  }

  /// A `jsonb`, from the text of a document.
  public static func jsonb(_ text: String?) -> Parameter {
    Parameter(
      oid: OID.jsonb,
      text.map { text in
        var bytes: [UInt8] = []
        JSONText(text).append(to: &bytes)
        return .bytes(bytes)
      })
  }

  /// The NULL of a type.
  public static func null<T: SQLScalar>(_ type: T.Type) -> Parameter {
    Parameter(oid: T.oid, nil)
  }
}

// MARK: - Arrays

extension Parameter {
  /// An array without NULLs; nil is the NULL array.
  public static func array<T: SQLScalar>(_ values: [T]?) -> Parameter {
    Parameter(oid: T.arrayOID, values.map { .bytes(ArrayFormat.encode($0)) })
  }

  /// An array whose nil elements are NULL.
  public static func array<T: SQLScalar>(_ values: [T?]) -> Parameter {
    Parameter(oid: T.arrayOID, .bytes(ArrayFormat.encode(values)))
  }

  /// The NULL of an array's type.
  public static func nullArray<T: SQLScalar>(of type: T.Type) -> Parameter {
    Parameter(oid: T.arrayOID, nil)
  }
}

// MARK: - Literals

extension Parameter: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral {
  /// A `text`.
  public init(stringLiteral value: String) {
    self = .text(value)
  }

  /// A `boolean`.
  public init(booleanLiteral value: Bool) {
    self = .bool(value)
  }

  /// A `double precision`.
  public init(floatLiteral value: Double) {
    self = .double(value)
  }
}

/// The parallel arrays in which libpq takes a statement's parameters.
///
/// Small values are gathered in one buffer; large ones are borrowed where they lie, so that the only copy of
/// an image is the one libpq makes into its send buffer.
struct EncodedParameters {
  /// Below this many bytes, copying costs less than lending.
  private static let lendingThreshold = 1024

  private var types: [Oid] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []
  private var offsets: [Int?] = []
  private var gathered: [UInt8] = []
  private var borrowed: [(index: Int, bytes: [UInt8])] = []

  init(_ parameters: [Parameter]) {
    for (index, parameter) in parameters.enumerated() {
      types.append(parameter.oid)
      formats.append(1)
      let start = gathered.count
      switch parameter.payload {
      case .null:
        offsets.append(nil)
        lengths.append(0)
        continue
      case .bytes(let bytes) where bytes.count >= EncodedParameters.lendingThreshold:
        offsets.append(nil)
        lengths.append(Int32(clamping: bytes.count))
        borrowed.append((index, bytes))
        continue
      case .bytes(let bytes): gathered.append(contentsOf: bytes)
      case .text(let text): gathered.append(contentsOf: text.utf8)
      case .word(let bits, let width):
        for byte in (0..<width).reversed() {
          gathered.append(UInt8(truncatingIfNeeded: bits >> UInt64(8 * byte)))
        }
      }
      offsets.append(start)
      lengths.append(Int32(clamping: gathered.count - start))
    }
    gathered.append(0)  // so that an empty value at the end still has an address: a null pointer is NULL
  }

  /// Lends the arrays to a call of libpq's: count, types, values, lengths, formats.
  func withPointers(
    _ body: (
      Int32, UnsafePointer<Oid>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
      UnsafePointer<Int32>?
    ) -> Int32
  ) -> Int32 {
    gathered.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { characters in
        let base = characters.baseAddress
        let values = offsets.map { offset in offset.flatMap { position in base.map { $0 + position } } }
        return lend(0, values) { body(Int32(types.count), types, $0, lengths, formats) }
      }
    }
  }

  /// Fills in the addresses of the borrowed values, one level of the stack for each.
  private func lend(
    _ next: Int, _ values: [UnsafePointer<CChar>?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Int32
  ) -> Int32 {
    guard next < borrowed.count else { return values.withUnsafeBufferPointer { body($0.baseAddress) } }
    return borrowed[next].bytes.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { characters in
        var values = values
        values[borrowed[next].index] = characters.baseAddress
        return lend(next + 1, values, body)
      }
    }
  }
}
