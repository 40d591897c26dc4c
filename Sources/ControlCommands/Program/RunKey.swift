import System

/// The key under which one run of `submit` is known.
enum RunKey {
  /// 128 random bits as 32 hexadecimal digits.
  static func random() -> String {
    Hexadecimal.text(of: (0..<16).map { _ in UInt8.random(in: .min ... .max) })
  }
}
