internal import HTTPTransfer
internal import Images
internal import Support

/// The image of one address in a disk cache's folder, for whoever wants it gone and fetches nothing: the folder is
/// neither made nor cleaned up for it, and it does not matter whether its host is still allowed.
///
/// It blocks: call it where a thread may wait.
struct CachedCopy: Sendable {
  /// What a look into the folder came to.
  enum Search: Sendable {
    /// It is there.
    case found(CachedCopy)
    /// It is not.
    case absent
    /// There are files, and nobody can say with these keys which is whose.
    case unreadable
  }

  private let folder: CacheFolder
  private let name: String

  /// Looks for the image of an address.
  ///
  /// - Throws: `SystemError` when the folder is another user's, open to others or cannot be read.
  static func search(
    for address: String, in folder: String, keys: KeyRing
  ) throws(SystemError) -> Search {
    // What is no address was never fetched.
    guard let url = URLParts(address)?.url, try PrivateFolder.isThere(folder) else { return .absent }
    let cache = CacheFolder(path: folder)
    guard let names = CacheNames(in: cache, keys) else {
      return try cache.list().isEmpty ? .absent : .unreadable
    }
    let copy = CachedCopy(folder: cache, name: names.name(of: url))
    return cache.has(copy.name) ? .found(copy) : .absent
  }

  /// Removes it.
  ///
  /// - Throws: `SystemError` when it cannot be removed; not when it was gone already.
  func remove() throws(SystemError) {
    _ = try folder.take(name)
  }
}
