import Csodium
public import Support

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

extension WrappingKey: Redacted {}

/// The 32 bytes of a key, in memory of libsodium's: between pages that nobody may touch, where the system allows it
/// never swapped out and in no core dump, and zeroed before it is given back.
///
/// Unchecked, since the compiler does not know whose the pointer is: the bytes are written before `init` returns, and
/// from then until `deinit` they can only be read, the page itself being read-only.
final class KeyMemory: @unchecked Sendable {
  private let bytes: UnsafeMutablePointer<UInt8>

  /// Memory that is filled by the closure.
  init(_ fill: (UnsafeMutablePointer<UInt8>) -> Void) throws(ImageEncryptionError) {
    try Sodium.prepare()
    guard let memory = sodium_malloc(AEAD.keyBytes) else {
      throw ImageEncryptionError(.unavailable, "There is no memory for a key.")
    }
    bytes = memory.bindMemory(to: UInt8.self, capacity: AEAD.keyBytes)
    fill(bytes)
    // Where it fails, the page is an ordinary one.
    _ = sodium_mprotect_readonly(memory)
  }

  deinit {
    // Makes it writable and zeroes it first.
    sodium_free(bytes)
  }

  /// Lends the bytes, 32 of them.
  func withKey<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
    defer { withExtendedLifetime(self) {} }
    return body(bytes)
  }
}

/// By what a key is known in the key file, in the database and in logs. It follows from the key and gives nothing
/// of it away.
public struct KeyID: Hashable, Sendable {
  /// The number, above zero.
  public let value: Int64

  /// A number as the database has it; nil when no key can have it.
  public init?(_ value: Int64) {
    guard value > 0 else { return nil }
    self.value = value
  }

  /// A number as it is written: 16 hexadecimal digits; nil when it is not one.
  public init?(text: some StringProtocol) {
    guard text.utf8.count == 16, text.utf8.allSatisfy(Self.isDigit), let value = Int64(text, radix: 16) else {
      return nil
    }
    self.init(value)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }
}

extension KeyID: CustomStringConvertible {
  /// 16 hexadecimal digits.
  public var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
