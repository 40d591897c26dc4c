/// What the file of an image holds once it is opened: until when it is kept, and its bytes.
struct CachedFile: Equatable {
  /// Seconds since 1970.
  let end: Double
  let image: [UInt8]

  private static let headCount = 8

  init(end: Double, image: [UInt8]) {
    self.end = end
    self.image = image
  }

  /// Reads the bytes of a file; nil when they are none of ours.
  init?(_ content: [UInt8]) {
    guard content.count >= Self.headCount else { return nil }
    let bits = content[..<Self.headCount].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    end = Double(bitPattern: bits)
    guard end.isFinite else { return nil }
    image = Array(content[Self.headCount...])
  }

  /// The bytes of the file, the end first, its lowest byte first.
  var content: [UInt8] {
    (0..<Self.headCount).map { UInt8(truncatingIfNeeded: end.bitPattern >> UInt64(8 * $0)) } + image
  }
}
