import Csodium

/// A key of the key file, under which the images' own keys are encrypted. It shows itself nowhere.
public struct WrappingKey: Sendable {
  /// By what it is known.
  public let id: KeyID
  /// When it was made, in seconds since 1970.
  public let createdAt: Double
  let memory: KeyMemory

  /// A new one, of random bytes.
  static func random(at moment: Double) throws(ImageEncryptionError) -> WrappingKey {
    while true {
      let memory = try KeyMemory { randombytes_buf($0, AEAD.keyBytes) }
      // One of 2^63 keys would have the number zero.
      if let key = WrappingKey(memory, createdAt: moment) { return key }
    }
  }

  /// A key that is there; nil for one that can have no number.
  init?(_ memory: KeyMemory, createdAt: Double) {
    guard let id = Self.id(of: memory) else { return nil }
    self.id = id
    self.createdAt = createdAt
    self.memory = memory
  }

  /// The number that a key has: 63 bits of a hash that nobody computes without the key. So a key under this number is
  /// certainly the one that was meant, and what does not open with it was changed.
  private static func id(of memory: KeyMemory) -> KeyID? {
    let label = Array("analysis-image-key-id".utf8)
    let hash = memory.withKey { key in
      [UInt8](unsafeUninitializedCapacity: 16) { hash, count in
        guard let start = hash.baseAddress else { return }
        _ = crypto_generichash(start, 16, label, UInt64(label.count), key, AEAD.keyBytes)
        count = 16
      }
    }
    let number = hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return KeyID(Int64(number & UInt64(Int64.max)))
  }
}

extension WrappingKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
