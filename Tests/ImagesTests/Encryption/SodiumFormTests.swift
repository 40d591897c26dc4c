import Csodium
import Testing

@testable import Images

@Suite("What is encrypted is XChaCha20-Poly1305, as libsodium has it")
struct SodiumFormTests {
  private let key = (0..<32).map { UInt8($0 &* 7 &+ 3) }
  private let context = Array("what it belongs to".utf8)

  private func message(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131) } }

  @Test("libsodium opens what is encrypted here", arguments: [0, 1, 15, 16, 17, 64, 255, 4096, 120_001])
  func opened(count: Int) throws {
    try Sodium.prepare()
    let message = message(count)
    let encrypted = message.withUnsafeBytes { AEAD.encrypt($0, key: key, context: context) }
    var plain = [UInt8](repeating: 0, count: count + 1)
    let answer = encrypted.withUnsafeBufferPointer { encrypted in
      crypto_aead_xchacha20poly1305_ietf_decrypt(
        &plain, nil, nil, encrypted.baseAddress! + 24, UInt64(encrypted.count - 24), context,
        UInt64(context.count),
        encrypted.baseAddress!, key)
    }
    #expect(answer == 0)
    #expect(Array(plain.dropLast()) == message)
  }

  @Test(
    "What libsodium has encrypted is opened here, and not with a bit changed",
    arguments: [0, 1, 16, 33, 120_001])
  func encrypted(count: Int) throws {
    try Sodium.prepare()
    let (message, nonce) = (message(count), (0..<24).map { UInt8(200 + $0) })
    var encrypted = [UInt8](repeating: 0, count: count + 16)
    _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
      &encrypted, nil, message, UInt64(count), context, UInt64(context.count), nil, nonce, key)
    let whole = nonce + encrypted
    #expect(whole.withUnsafeBytes { AEAD.open($0, key: key, context: context) } == message)
    for place in [0, 16, 23, 24, whole.count - 16, whole.count - 1] {
      var changed = whole
      changed[place] ^= 1
      #expect(changed.withUnsafeBytes { AEAD.open($0, key: key, context: context) } == nil, "\(place)")
    }
  }
}
