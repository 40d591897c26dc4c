import Ccrypto

/// The secret by which a webhook's messages are signed, as Standard Webhooks has it: the receiver has it too, and
/// sees by it who sent a message. It shows itself nowhere.
public struct WebhookSecret: Sendable {
  private let bytes: [UInt8]

  /// Bytes of a new secret; the standard wants 24 to 64.
  private static let count = 32

  /// A new one, of random bytes.
  ///
  /// - Throws: `unavailable`.
  public init() throws(ImageEncryptionError) {
    bytes = try Sodium.randomBytes(Self.count)
  }

  /// One that is there, as the database keeps it, encrypted for an address.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when it was changed or is another address's.
  public init(_ encrypted: [UInt8], of url: String, keys: KeyRing) throws(ImageEncryptionError) {
    bytes = try keys.openFile(encrypted, name: Self.name(url))
  }

  /// The secret under the current key of a key file. It opens for the same address alone: to change the address in the
  /// database is to make the webhook useless.
  ///
  /// - Throws: `noKey` or `unavailable`.
  public func encrypted(for url: String, keys: KeyRing) throws(ImageEncryptionError) -> [UInt8] {
    try keys.encryptFile(bytes, name: Self.name(url))
  }

  /// The secret as it is given to the receiver: `whsec_` and its bytes in base64.
  public var text: String { "whsec_" + Sodium.base64(bytes) }

  /// The signature of a message, `v1,` and the HMAC-SHA-256 of its number, its time and its body in base64.
  ///
  /// - Parameters:
  ///   - id: The message's number, `webhook-id`.
  ///   - timestamp: Seconds since 1970, `webhook-timestamp`.
  public func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
    let signed = Array("\(id).\(timestamp).".utf8) + body
    let hash = [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
      var written: UInt32 = 0
      let outcome = HMAC(
        EVP_sha256(), bytes, Int32(bytes.count), signed, signed.count, hash.baseAddress, &written)
      precondition(outcome != nil && written == 32, "libcrypto cannot compute an HMAC.")
      count = 32
    }
    return "v1," + Sodium.base64(hash)
  }

  private static func name(_ url: String) -> String { "webhook \(url)" }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
