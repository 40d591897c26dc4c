/// By what a key is known in the key file, in the database and in logs. It follows from the key and gives nothing
/// of it away.
public struct KeyID: Hashable, Sendable {
  /// The number, above zero.
  public let value: Int64

  /// A number as the database has it; nil when no key can have it.
  public init?(_ value: Int64) {
    guard value > 0 else { return nil }
    self.value = value
  }

  /// A number as it is written: 16 hexadecimal digits; nil when it is not one.
  public init?(text: some StringProtocol) {
    guard text.utf8.count == 16, text.utf8.allSatisfy(Self.isDigit), let value = Int64(text, radix: 16) else {
      return nil
    }
    self.init(value)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }
}

extension KeyID: CustomStringConvertible {
  /// 16 hexadecimal digits.
  public var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
