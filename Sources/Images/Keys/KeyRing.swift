public import Support

/// The keys of a key file: one under which images are encrypted now, and those of before, under which older images
/// still are.
public struct KeyRing: Sendable {
  /// The keys, in the file's order: the oldest first.
  public private(set) var keys: [WrappingKey]
  /// The number of the key under which images are encrypted.
  public private(set) var currentID: KeyID
  /// The keys of images' hashes: the first is that of new images. They stay when keys of images come and go. Others than the
  /// first are kept for programs of version 1.0, which compare hashes by each.
  let hashKeys: [HashKey]

  /// A ring of one new key.
  ///
  /// - Parameter moment: When that is, in seconds since 1970.
  /// - Throws: `unavailable`.
  init(at moment: Double) throws(ImageEncryptionError) {
    let key = try WrappingKey.random(at: moment)
    self.init(keys: [key], current: key.id, hashKeys: [try HashKey(from: key)])
  }

  /// Keys that are there, the current one among them.
  init(keys: [WrappingKey], current: KeyID, hashKeys: [HashKey]) {
    self.keys = keys
    self.hashKeys = hashKeys
    currentID = current
  }

  /// The numbers of all keys, in the file's order.
  public var ids: [KeyID] { keys.map(\.id) }

  /// A key by its number.
  public subscript(id: KeyID) -> WrappingKey? { keys.first { $0.id == id } }

  /// The key that was added after one; nil for the last, or one that is not there.
  public func key(after id: KeyID) -> WrappingKey? {
    guard let index = keys.firstIndex(where: { $0.id == id }), index + 1 < keys.count else { return nil }
    return keys[index + 1]
  }

  /// The key under which images are encrypted.
  ///
  /// - Throws: `noKey`, of a ring that was not made by this module.
  func current() throws(ImageEncryptionError) -> WrappingKey {
    guard let key = self[currentID] else { throw .noKey(currentID) }
    return key
  }

  /// Adds a new key, which is the current one from then on.
  ///
  /// - Parameter moment: When that is, in seconds since 1970.
  /// - Throws: `unavailable`.
  public mutating func addKey(at moment: Double) throws(ImageEncryptionError) {
    let key = try WrappingKey.random(at: moment)
    keys.append(key)
    currentID = key.id
  }

  /// Takes a key out. What is encrypted under it can be read by nobody any more: whoever calls this has looked.
  ///
  /// - Throws: `noKey`, or `inUse` for the current key.
  mutating func removeKey(_ id: KeyID) throws(ImageEncryptionError) {
    guard self[id] != nil else { throw .noKey(id) }
    guard id != currentID else {
      throw ImageEncryptionError(
        .inUse, "Key \(id) is the one under which images are encrypted now.",
        advice: "Make another with analysisctl keys new, and then analysisctl keys rotate.")
    }
    keys.removeAll { $0.id == id }
  }
}

extension KeyRing: Redacted {}

extension ImageEncryptionError {
  /// There is no key of this number.
  static func noKey(_ id: KeyID) -> ImageEncryptionError {
    ImageEncryptionError(
      .noKey, "The key file has no key \(id).",
      advice:
        "Put the key back from a copy of the file, or see analysisctl keys list for those that there are.")
  }
}
