import FuzzSupport
import HTTPTransfer

@testable import Control

/// An image's address: read in one way or not at all, and allowed only for the host that is reached.
@main enum FuzzAddress: FuzzTarget {
  static func take(_ input: UnsafeRawBufferPointer) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    if let parts = URLParts(text) { check(parts) }
    _ = IPAddress(text)
    guard let host = try? AllowedHost("img.example.org"), let below = try? AllowedHost("*.example.net") else {
      return require(false, "the hosts are hosts")
    }
    do throws(RemoteImageError) {
      let address = try RemoteAddress(text, among: [host, below])
      require(
        address.host == "img.example.org" || address.host.hasSuffix(".example.net"), "a host that is allowed")
      require(address.url.hasPrefix("https://\(address.host):443/"), "what is requested is on that host")
    } catch {
      requireShowable(error.description, limit: 1000, "the error")
    }
  }

  private static func check(_ parts: URLParts) {
    require(parts.host == parts.host.lowercased(), "a host is in lower case")
    require(!parts.host.hasSuffix(".") && !parts.host.hasPrefix("."), "a host has no dot at its ends")
    require(!parts.host.contains("@") && !parts.host.contains("%"), "a host is a host")
    let again = URLParts(parts.url)
    require(again?.url == parts.url && again?.host == parts.host, "what was read is read as the same again")
    require(again?.hasCredentials == false, "nobody's password is kept")
  }
}
