/// The addresses that a request may go to, looked up and judged beforehand: the name is not looked up again.
///
/// What a name leads to may change between two look-ups, by design of whoever owns it. A request with a pin
/// connects to the addresses of the pin alone, and nothing of it is sent to any other.
public struct AddressPin: Sendable {
  /// The addresses in figures (`192.0.2.1`, `2001:db8::1`), at least one.
  public var addresses: [String]
  /// Asked with the address of the connection before anything is sent on it, since a kept-alive connection of
  /// an earlier request may serve this one. Called on the event loop's thread.
  public var permits: @Sendable (String) -> Bool

  /// A pin to addresses; a connection to one of these alone is permitted unless `permits` says otherwise.
  public init(_ addresses: [String], permits: (@Sendable (String) -> Bool)? = nil) {
    self.addresses = addresses
    self.permits = permits ?? { addresses.contains($0) }
  }
}

extension AddressPin {
  /// libcurl's form of "this host and port are at these addresses"; nil when an address is none, since nothing
  /// else may get into that list.
  func entry(host: String, port: Int) -> String? {
    guard !addresses.isEmpty, addresses.allSatisfy(Self.isInFigures) else { return nil }
    let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    return "\(host):\(port):\(list)"
  }

  private static func isInFigures(_ address: String) -> Bool {
    !address.isEmpty
      && address.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
          true
        default: false
        }
      }
  }
}
