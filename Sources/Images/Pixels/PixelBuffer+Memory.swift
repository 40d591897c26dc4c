import Glibc

extension PixelBuffer {
  /// Uninitialised memory, or nil if there is none.
  static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8>? {
    malloc(count)?.bindMemory(to: UInt8.self, capacity: count)
  }

  static func release(_ memory: UnsafeMutablePointer<UInt8>) {
    free(memory)
  }
}
