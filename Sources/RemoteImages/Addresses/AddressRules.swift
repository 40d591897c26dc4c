/// Which addresses an image may be fetched from: those that anybody on the internet could fetch it from. What is
/// near this machine (its own services, its network, the cloud's metadata) is refused, in every form of IPv6 that
/// stands for an address of IPv4 too.
enum AddressRules {
  /// Why an address is refused, as words that stand after "an address that is"; nil when it is public.
  static func refusal(of address: IPAddress) -> String? {
    address.bytes.count == 4 ? refusalOfIPv4(address) : refusalOfIPv6(address)
  }

  private static func refusalOfIPv4(_ address: IPAddress) -> String? {
    ipv4.first { $0.block.contains(address) }?.words
  }

  private static func refusalOfIPv6(_ address: IPAddress) -> String? {
    if let inner = embedded(in: address) {
      // What stands for a public address is as good as it; what stands for another is as bad.
      guard let words = refusalOfIPv4(inner) else { return nil }
      return "another form of one that is \(words)"
    }
    if let found = ipv6.first(where: { $0.block.contains(address) }) { return found.words }
    return global.contains { $0.contains(address) } ? nil : "outside of the public internet"
  }

  /// The address of IPv4 that one of IPv6 stands for: mapped, 6to4, NAT64 or ISATAP.
  private static func embedded(in address: IPAddress) -> IPAddress? {
    let bytes = address.bytes
    let place: Int? =
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
    return place.flatMap { IPAddress(bytes: Array(bytes[$0..<$0 + 4])) }
  }

  // MARK: - Tables (IANA's registries of special-purpose addresses)

  private typealias Row = (block: AddressBlock, words: String)

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
