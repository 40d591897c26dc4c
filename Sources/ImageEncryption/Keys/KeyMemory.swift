import Csodium

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
