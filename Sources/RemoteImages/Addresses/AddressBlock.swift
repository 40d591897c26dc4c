/// Addresses that begin alike: `10.0.0.0/8`.
struct AddressBlock: Sendable {
  private let start: [UInt8]
  private let length: Int

  /// A block of one of the tables here.
  init(_ start: IPAddress, _ length: Int) {
    self.start = start.bytes
    self.length = length
  }

  /// Whether an address of the same family begins so.
  func contains(_ address: IPAddress) -> Bool {
    guard address.bytes.count == start.count else { return false }
    let whole = length / 8
    guard address.bytes[..<whole] == start[..<whole] else { return false }
    let rest = length % 8
    return rest == 0 || (address.bytes[whole] ^ start[whole]) >> UInt8(8 - rest) == 0
  }
}
