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
