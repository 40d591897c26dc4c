import Csodium

/// Unpredictable bytes of the system, through libsodium.
enum Randomness {
  /// libsodium prepared, once; false if the system has no source of randomness.
  static let isReady = sodium_init() >= 0

  static func bytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    randombytes_buf(&bytes, count)
    return bytes
  }

  static func hex(_ count: Int) -> String {
    bytes(count).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }
}
