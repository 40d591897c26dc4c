/// A JPEG taken apart by the letter of the standard, to see what a clean picture holds. It shares nothing
/// with the cleaner.
struct JPEGParts {
  /// Marker and content of each segment; a scan's content is its header alone.
  var segments: [(marker: UInt8, content: [UInt8])] = []
  /// Bytes after the end marker; nil if there is no end.
  var trailing: Int?
  /// Whether something was found that is no segment.
  var isMalformed = false

  init(_ bytes: [UInt8]) {
    guard bytes.starts(with: [0xFF, 0xD8]) else {
      isMalformed = true
      return
    }
    var rest = bytes.dropFirst(2)
    while rest.count >= 2 {
      guard rest.removeFirst() == 0xFF else {
        isMalformed = true
        return
      }
      let marker = rest.removeFirst()
      if marker == 0xD9 {
        trailing = rest.count
        return
      }
      let length = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
      guard length >= 2, rest.count >= length else {
        isMalformed = true
        return
      }
      segments.append((marker, Array(rest.prefix(length).dropFirst(2))))
      rest = rest.dropFirst(length)
      if marker == 0xDA { Self.skipScan(&rest) }
    }
  }

  /// The number of components that the frame header gives.
  var components: Int? {
    segments.first { (0xC0...0xC2).contains($0.marker) }.flatMap {
      $0.content.count > 5 ? Int($0.content[5]) : nil
    }
  }

  private static func skipScan(_ rest: inout ArraySlice<UInt8>) {
    while let at = rest.firstIndex(of: 0xFF), at + 1 < rest.endIndex {
      let next = rest[at + 1]
      if next == 0 || (0xD0...0xD7).contains(next) {
        rest = rest[(at + 2)...]
      } else {
        rest = rest[at...]
        return
      }
    }
    rest = []
  }
}
