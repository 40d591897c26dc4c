import Ccrypto
import Csodium

/// A key under which images are hashed, so that whoever has the database and a picture, and not the key file, cannot
/// find out whether the picture is in it.
struct HashKey: Sendable {
  let memory: KeyMemory

  /// A key that is there.
  init(_ memory: KeyMemory) {
    self.memory = memory
  }

  /// The key that follows from a key of the key file, by libsodium's derivation of keys.
  ///
  /// - Throws: `unavailable`.
  init(from key: WrappingKey) throws(ImageEncryptionError) {
    memory = try KeyMemory { derived in
      key.memory.withKey { key in
        _ = crypto_kdf_derive_from_key(derived, AEAD.keyBytes, 1, Self.context, key)
      }
    }
  }

  /// What the derived key is for: 8 bytes, which must not change.
  private static let context = "imgehash"

  /// The HMAC-SHA-256 of bytes: 32 bytes. By libcrypto, which uses the processor's own instructions where there are any.
  func hash(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
      var written: UInt32 = 0
      let outcome = memory.withKey { key in
        HMAC(
          EVP_sha256(), key, Int32(AEAD.keyBytes), bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count,
          hash.baseAddress, &written)
      }
      precondition(outcome != nil && written == 32, "libcrypto cannot compute an HMAC.")
      count = 32
    }
  }
}

extension KeyRing {
  /// The hash by which an image is known, taken before it is encrypted: the HMAC-SHA-256 under a key that is derived
  /// from the key file's first key.
  public func imageHash(of image: [UInt8]) -> [UInt8] {
    image.withUnsafeBytes { bytes in hashKeys.first.map { $0.hash(of: bytes) } ?? [] }
  }

  /// Whether an image is the one that has a hash: under a key of the file's hashes, or else under one that follows from
  /// any of its keys, as where a key was put into the file by hand.
  public func isHash(_ hash: [UInt8], of image: [UInt8]) -> Bool {
    image.withUnsafeBytes { image in
      hashKeys.contains { $0.hash(of: image) == hash }
        || keys.contains { key in (try? HashKey(from: key))?.hash(of: image) == hash }
    }
  }
}
