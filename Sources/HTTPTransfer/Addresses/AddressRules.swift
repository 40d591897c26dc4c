internal import Glibc

/// Which addresses are public: those that anybody on the internet reaches. What is near this machine (its own services,
/// its network, the cloud's metadata) is refused, in every form of IPv6 that stands for an address of IPv4 too.
public enum AddressRules {
  /// Why an address is refused, to be read after "an address that is"; nil when it is public.
  public static func refusal(of address: IPAddress) -> String? {
    address.bytes.count == 4 ? refusalOfIPv4(address) : refusalOfIPv6(address)
  }

  private static func refusalOfIPv4(_ address: IPAddress) -> String? {
    ipv4.first { $0.block.contains(address) }?.reason
  }

  private static func refusalOfIPv6(_ address: IPAddress) -> String? {
    if let inner = embedded(in: address) {
      // What stands for a public address is as good as it; what stands for another is as bad.
      guard let reason = refusalOfIPv4(inner) else { return nil }
      return "another form of one that is \(reason)"
    }
    if let found = ipv6.first(where: { $0.block.contains(address) }) { return found.reason }
    return global.contains { $0.contains(address) } ? nil : "outside of the public internet"
  }

  /// The address of IPv4 that one of IPv6 stands for: mapped, 6to4, NAT64 or ISATAP.
  private static func embedded(in address: IPAddress) -> IPAddress? {
    let bytes = address.bytes
    let offset: Int? =
      if mapped.contains(address) || translated.contains(address) {
        12
      } else if sixToFour.contains(address) {
        2
      } else if bytes[8] & 0xFD == 0, bytes[9...11].elementsEqual([0, 0x5E, 0xFE]) {
        // The marks of ISATAP. One of these without a refused address in it is judged by what it is otherwise.
        IPAddress(bytes: Array(bytes[12...])).flatMap(refusalOfIPv4) == nil ? nil : 12
      } else {
        nil
      }
    return offset.flatMap { IPAddress(bytes: Array(bytes[$0..<$0 + 4])) }
  }

  // MARK: - Tables (IANA's registries of special-purpose addresses)

  private typealias Row = (block: AddressBlock, reason: String)

  private static let ipv4: [Row] = table([
    ("0.0.0.0", 8, "unspecified"),
    ("10.0.0.0", 8, "private"),
    // Metadata of a cloud, 100.100.100.200, is among these.
    ("100.64.0.0", 10, "shared by a provider's customers"),
    ("127.0.0.0", 8, "this machine's own"),
    // Metadata of most clouds, 169.254.169.254, is among these.
    ("169.254.0.0", 16, "link-local"),
    ("172.16.0.0", 12, "private"),
    ("192.0.0.0", 24, "reserved for protocols"),
    ("192.0.2.0", 24, "for documentation"),
    ("192.88.99.0", 24, "a relay of 6to4"),
    ("192.168.0.0", 16, "private"),
    ("198.18.0.0", 15, "for benchmarks"),
    ("198.51.100.0", 24, "for documentation"),
    ("203.0.113.0", 24, "for documentation"),
    ("224.0.0.0", 4, "multicast"),
    ("240.0.0.0", 4, "reserved"),
    // A public address by number that in one cloud is every machine's host.
    ("168.63.129.16", 32, "a cloud's own"),
  ])

  private static let ipv6: [Row] = table([
    ("::1", 128, "this machine's own"),
    ("::", 96, "unspecified"),
    ("64:ff9b:1::", 48, "private"),
    ("100::", 64, "for discarding"),
    // Teredo, ORCHID and the block for benchmarks are among these.
    ("2001::", 23, "reserved for protocols"),
    ("2001:db8::", 32, "for documentation"),
    ("3fff::", 20, "for documentation"),
    ("fc00::", 7, "private"),
    ("fe80::", 10, "link-local"),
    ("fec0::", 10, "private"),
    ("ff00::", 8, "multicast"),
  ])

  /// What is given out to the public internet; all else is refused, also what nobody has a use for yet.
  private static let global = blocks([("2000::", 3)])
  private static let mapped = Group([("::ffff:0:0", 96), ("::ffff:0:0:0", 96)])
  private static let translated = Group([("64:ff9b::", 96)])
  private static let sixToFour = Group([("2002::", 16)])

  /// A few blocks as one.
  private struct Group {
    let members: [AddressBlock]

    init(_ rows: [(String, Int)]) {
      members = AddressRules.blocks(rows)
    }

    func contains(_ address: IPAddress) -> Bool {
      members.contains { $0.contains(address) }
    }
  }

  private static func table(_ rows: [(String, Int, String)]) -> [Row] {
    rows.map { (block($0.0, $0.1), $0.2) }
  }

  private static func blocks(_ rows: [(String, Int)]) -> [AddressBlock] {
    rows.map { block($0.0, $0.1) }
  }

  private static func block(_ start: String, _ length: Int) -> AddressBlock {
    guard let start = IPAddress(start) else { preconditionFailure("\(start) in a table is no address") }
    return AddressBlock(start, length)
  }
}

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

/// An address of IPv4 or IPv6.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  /// Its 4 or 16 bytes, the first first.
  let bytes: [UInt8]

  /// An address of 4 or 16 bytes; nil for any other number.
  init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Reads the usual spelling alone: four decimal numbers, or IPv6 with or without brackets.
  public init?(_ text: String) {
    var text = text[...]
    if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
    let (family, count) = text.contains(":") ? (AF_INET6, 16) : (AF_INET, 4)
    var isRead = false
    bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      isRead = inet_pton(family, String(text), buffer.baseAddress) == 1
      filled = isRead ? count : 0
    }
    guard isRead else { return nil }
  }

  /// The address of a socket's name; nil for another family than the two.
  init?(_ name: UnsafePointer<sockaddr>) {
    let name = UnsafeRawPointer(name)
    switch Int32(name.loadUnaligned(as: sockaddr.self).sa_family) {
    case AF_INET:
      bytes = withUnsafeBytes(of: name.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
    case AF_INET6:
      bytes = withUnsafeBytes(of: name.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
    default: return nil
    }
  }

  /// The usual spelling, without brackets.
  public var description: String {
    var text = [CChar](repeating: 0, count: 64)
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
