internal import HTTPTransfer
internal import Support

/// The one address below which photos are that are given by name: `https://img.example.org/photos/`.
struct PhotoBase: Sendable, Hashable, CustomStringConvertible {
  /// Why a text is no such address, or no name of a photo, to be read after it.
  struct Fault: Error, Sendable, Equatable {
    /// `is not …`.
    let message: String
  }

  private let url: String

  /// Reads the address; a slash at its end may be left out.
  init(_ text: String) throws(Fault) {
    guard let parts = URLParts(text), parts.scheme == "https", !parts.hasCredentials,
      !text.contains("?"), !text.contains("#")
    else {
      throw Fault(message: "is not an https address without a query; write https://img.example.org/photos/")
    }
    url = parts.url.hasSuffix("/") ? parts.url : parts.url + "/"
  }

  /// Whether a photo is given by its whole address, and not by a name.
  static func isAddress(_ text: String) -> Bool { text.contains("://") }

  /// The address of a photo by its name, which may be of several parts with slashes between them. All but letters,
  /// digits and `-._~` is escaped, so that no name leads elsewhere.
  func address(of name: String) throws(Fault) -> String {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !name.isEmpty, name.unicodeScalars.count <= 500, name.unicodeScalars.allSatisfy(\.isPrintable)
    else {
      throw Fault(message: "has 1 to 500 characters, and none that cannot be seen")
    }
    guard parts.allSatisfy({ !["", ".", ".."].contains($0) }) else {
      throw Fault(message: "has a part that is empty, . or ..")
    }
    return url + parts.map { percentEncoded(String($0)) }.joined(separator: "/")
  }

  /// As it is written down.
  var description: String { url }
}

extension PhotoBase? {
  /// The address of a photo that is given by its address, or by its name below the base.
  ///
  /// - Throws: `RemoteImageError` for an address that may not be fetched from those hosts, and `PhotoBase.Fault` for a
  ///   name that is none, or where there is no base.
  func address(
    of photo: String, among hosts: [AllowedHost], in network: NetworkDependencies = .system
  ) throws -> String {
    var address = photo
    if !PhotoBase.isAddress(photo) {
      guard let self else {
        throw PhotoBase.Fault(
          message: "is no address, and there is no --photo-base below which it could be a name")
      }
      address = try self.address(of: photo)
    }
    _ = try RemoteAddress(address, among: hosts, in: network)
    return address
  }
}
