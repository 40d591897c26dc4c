import Cturbojpeg

/// Output that libturbojpeg allocates and lets grow.
struct TurboBuffer: ~Copyable {
  var start: UnsafeMutablePointer<UInt8>?
  var count: UInt = 0

  deinit { tjFree(start) }

  /// The bytes, as memory of our own.
  func copy() -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: Int(count)))
  }
}
