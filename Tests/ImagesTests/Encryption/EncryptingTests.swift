import Testing

@testable import Images
@testable import Support

@Suite("An encrypted image")
struct EncryptingTests {
  private static func image(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  private static func binding(_ image: [UInt8], user: String = "clinic-1") -> ImageBinding {
    ImageBinding(user: user, sha256: SHA256.digest(of: image))
  }

  private func open(
    _ encrypted: EncryptedImage, _ binding: ImageBinding, by ring: KeyRing, bytes: [UInt8]? = nil,
    key: WrappedKey? = nil
  ) throws(ImageEncryptionError) -> [UInt8] {
    try (bytes ?? encrypted.bytes).withUnsafeBytes { bytes in
      Result { () throws(ImageEncryptionError) in try ring.open(bytes, key ?? encrypted.key, binding) }
    }.get()
  }

  @Test("comes back as it was, whatever its size", arguments: [0, 1, 63, 64, 65, 120_000, 10_485_760])
  func roundTrip(count: Int) throws {
    let ring = try KeyRing(at: 0)
    let image = Self.image(count)
    let encrypted = try ring.encrypt(image, Self.binding(image))
    #expect(encrypted.bytes.count == count + EncryptedImage.overhead && EncryptedImage.overhead == 40)
    #expect(encrypted.key.bytes.count == 72 && WrappedKey.byteCount == 72)
    #expect(encrypted.key.keyID == ring.currentID)
    #expect(try open(encrypted, Self.binding(image), by: ring) == image)
  }

  @Test("shows nothing of the image, and is another each time")
  func hidden() throws {
    let ring = try KeyRing(at: 0)
    let image = [UInt8](repeating: 0xFF, count: 4096)
    let (one, other) = (
      try ring.encrypt(image, Self.binding(image)), try ring.encrypt(image, Self.binding(image))
    )
    #expect(one.bytes != other.bytes && one.key.bytes != other.key.bytes)
    // What repeats in the image does not in either of them.
    for encrypted in [one, other] {
      let longest = encrypted.bytes.split { $0 != 0xFF }.map(\.count).max() ?? 0
      #expect(longest < 8)
    }
  }

  @Test("does not open for another user, or as another image")
  func bound() throws {
    let ring = try KeyRing(at: 0)
    let image = Self.image(500)
    let encrypted = try ring.encrypt(image, Self.binding(image))
    let others = [
      Self.binding(image, user: "clinic-2"), Self.binding(image, user: ""), Self.binding(Self.image(501)),
      // The same bytes one after the other, cut elsewhere.
      ImageBinding(
        user: "clinic-", sha256: Array("1".utf8) + SHA256.digest(of: image)),
    ]
    for other in others {
      let error = #expect(throws: ImageEncryptionError.self) { try open(encrypted, other, by: ring) }
      #expect(error?.code == .tampered)
    }
  }

  @Test("does not open when a bit of it or of its key was changed, or a byte is missing")
  func tampered() throws {
    let ring = try KeyRing(at: 0)
    let image = Self.image(300)
    let (encrypted, binding) = (try ring.encrypt(image, Self.binding(image)), Self.binding(image))
    for place in [0, 23, 24, 180, encrypted.bytes.count - 1] {
      var bytes = encrypted.bytes
      bytes[place] ^= 1
      let error = #expect(throws: ImageEncryptionError.self) {
        try open(encrypted, binding, by: ring, bytes: bytes)
      }
      #expect(error?.code == .tampered && error?.message.hasPrefix("The image does not open") == true)
    }
    for count in [0, 1, 24, 39, 40, encrypted.bytes.count - 1] {
      let cut = Array(encrypted.bytes.prefix(count))
      #expect(throws: ImageEncryptionError.self) { try open(encrypted, binding, by: ring, bytes: cut) }
    }
    for place in 0..<72 {
      var bytes = encrypted.key.bytes
      bytes[place] ^= 0x80
      let key = WrappedKey(keyID: encrypted.key.keyID, bytes: bytes)
      let error = #expect(throws: ImageEncryptionError.self) {
        try open(encrypted, binding, by: ring, key: key)
      }
      #expect(error?.code == .tampered && error?.message.hasPrefix("The image's own key") == true)
    }
    for bytes in [[], Array(encrypted.key.bytes.dropLast()), encrypted.key.bytes + [0]] {
      let key = WrappedKey(keyID: encrypted.key.keyID, bytes: bytes)
      #expect(throws: ImageEncryptionError.self) { try open(encrypted, binding, by: ring, key: key) }
    }
  }

  @Test("an image's bytes and its key do not stand for each other, nor for those of another image")
  func exchanged() throws {
    let ring = try KeyRing(at: 0)
    let image = Self.image(32)
    let binding = Self.binding(image)
    let (one, other) = (try ring.encrypt(image, binding), try ring.encrypt(image, binding))
    #expect(throws: ImageEncryptionError.self) { try open(one, binding, by: ring, bytes: other.bytes) }
    #expect(throws: ImageEncryptionError.self) { try open(one, binding, by: ring, bytes: one.key.bytes) }
  }

  @Test("under a key that is not there says which key it wants")
  func noKey() throws {
    let (ring, stranger) = (try KeyRing(at: 0), try KeyRing(at: 0))
    let image = Self.image(10)
    let encrypted = try ring.encrypt(image, Self.binding(image))
    let error = #expect(throws: ImageEncryptionError.self) {
      try open(encrypted, Self.binding(image), by: stranger)
    }
    #expect(error?.code == .noKey && error?.message.contains("\(ring.currentID)") == true)
  }

  @Test("put under a newer key it is the same image, also without the older key")
  func rewrapped() throws {
    let folder = try KeyFileOfTest()
    let old = try KeyFile.read(folder.path)
    let image = Self.image(1000)
    let binding = Self.binding(image)
    let encrypted = try old.encrypt(image, binding)
    let both = try KeyFile.addKey(folder.path, at: 1)
    let key = try both.rewrap(encrypted.key, binding)
    #expect(key.keyID == both.currentID && key.keyID != old.currentID)
    let new = try KeyFile.removeKey(old.currentID, from: folder.path)
    #expect(try open(encrypted, binding, by: new, key: key) == image)
    // The older key is still good for what a backup has.
    #expect(try open(encrypted, binding, by: both) == image)
    let other = Self.binding(image, user: "clinic-2")
    #expect(throws: ImageEncryptionError.self) { try both.rewrap(encrypted.key, other) }
  }
}
