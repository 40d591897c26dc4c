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
    guard let text = String(validating: content, as: UTF8.self) else { return nil }
    self.text = text
  }

  /// Appends the version byte and the text.
  public func append(to bytes: inout [UInt8]) {
    bytes.append(1)
    bytes.append(contentsOf: text.utf8)
  }
}
