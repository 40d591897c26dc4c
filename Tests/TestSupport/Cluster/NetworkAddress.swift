import Glibc

/// An IPv4 address of this machine beside the loopback; nil when it has none.
public let networkAddress: String? = {
  var first: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&first) == 0 else { return nil }
  defer { freeifaddrs(first) }
  for interface in sequence(first: first, next: { $0?.pointee.ifa_next }) {
    guard let found = interface?.pointee, let address = found.ifa_addr,
      Int32(address.pointee.sa_family) == AF_INET,
      found.ifa_flags & UInt32(IFF_LOOPBACK) == 0
    else { continue }
    var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    guard getnameinfo(address, size, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0 else {
      continue
    }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
  return nil
}()
