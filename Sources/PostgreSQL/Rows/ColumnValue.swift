/// A type that a column is read as: what the server has in it, and how the type is made of that.
///
/// A property of a type that is decoded from a row is of such a type, an array of such, or optional.
public protocol ColumnValue: Decodable {
  /// What the column has.
  associatedtype Stored: SQLScalar
  /// The value of a column.
  ///
  /// - Throws: ``UnknownValue`` for what the type does not have.
  init(stored: Stored) throws
}

/// A column has something for which this program has no value.
public struct UnknownValue: Error, Sendable {
  /// Of what it is none.
  public let what: String
  /// What the column has.
  public let value: String

  /// Something of which there is no such value.
  public init(_ what: String, _ value: some CustomStringConvertible & Sendable) {
    self.what = what
    self.value = value.description
  }
}

extension ColumnValue {
  /// Reads a single value, where it is not a row that is decoded.
  public init(from decoder: any Decoder) throws where Stored: Decodable {
    try self.init(stored: decoder.singleValueContainer().decode(Stored.self))
  }
}

extension ColumnValue where Stored == Self {
  /// What the column has.
  public init(stored: Self) { self = stored }
}

extension ColumnValue where Self: RawRepresentable, RawValue == Stored, Stored: CustomStringConvertible {
  /// The value of an enumeration that the database names.
  public init(stored: Stored) throws {
    guard let value = Self(rawValue: stored) else { throw UnknownValue("\(Self.self)", stored) }
    self = value
  }

  /// Reads a single value, where it is not a row that is decoded.
  public init(from decoder: any Decoder) throws where Stored: Decodable {
    try self.init(stored: decoder.singleValueContainer().decode(Stored.self))
  }
}

extension Bool: ColumnValue {}
extension Int16: ColumnValue {}
extension Int32: ColumnValue {}
extension Int64: ColumnValue {}
extension Double: ColumnValue {}
extension String: ColumnValue {}
extension [UInt8]: ColumnValue {}
extension Timestamp: ColumnValue {}

extension Int: ColumnValue {
  /// Any integer of the server.
  public init(stored: Int64) { self.init(stored) }
}
