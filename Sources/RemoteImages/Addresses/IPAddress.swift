internal import Glibc

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
