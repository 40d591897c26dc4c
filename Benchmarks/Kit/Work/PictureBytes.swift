/// Bytes that stand for photos where nobody decodes them.
public enum PictureBytes {
  /// So many of a size, each different, with the beginning and the end of a JPEG. They cannot be compressed, as
  /// photos cannot.
  public static func pictures(_ count: Int, bytes: Int) -> [[UInt8]] {
    (0..<count).map { picture(UInt64($0) + 1, bytes: bytes) }
  }

  /// One of a size; the same number gives the same bytes.
  public static func picture(_ number: UInt64, bytes: Int) -> [UInt8] {
    var state = number &* 0x9E37_79B9_7F4A_7C15 | 1
    var content: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0]
    content.reserveCapacity(bytes + 8)
    while content.count < bytes - 2 {
      // Marsaglia's xorshift: fast, and even enough.
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      withUnsafeBytes(of: state) { content.append(contentsOf: $0) }
    }
    content.removeLast(max(0, content.count - (bytes - 2)))
    return content + [0xFF, 0xD9]
  }
}
