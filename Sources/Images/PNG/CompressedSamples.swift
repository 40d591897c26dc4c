import Czlib

/// The samples of a PNG: one zlib stream, in pieces that are the contents of the data chunks.
struct CompressedSamples: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  /// The pieces that have not begun.
  private var pieces: ArraySlice<Range<Int>>
  /// At a fixed address, to which zlib keeps a pointer.
  private let stream: UnsafeMutablePointer<z_stream>
  private var result = Z_OK

  /// The stream in pieces of a file; nil where there is no memory.
  init?(_ pieces: [Range<Int>], of bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    self.pieces = pieces[...]
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard inflateInit_(stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// The next bytes; how many there are. Fewer than there is room for come at the end alone, or where the stream is
  /// damaged.
  mutating func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    stream.pointee.next_out = room.baseAddress
    stream.pointee.avail_out = UInt32(room.count)
    while stream.pointee.avail_out > 0, result == Z_OK {
      if stream.pointee.avail_in == 0 {
        guard let piece = pieces.popFirst() else { break }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: piece.lowerBound)
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = UInt32(piece.count)
      }
      result = inflate(stream, Z_NO_FLUSH)
      // Nothing is wrong: what comes next is in the next piece.
      if result == Z_BUF_ERROR, stream.pointee.avail_in == 0 { result = Z_OK }
    }
    return room.count - Int(stream.pointee.avail_out)
  }

  /// Whether the stream has ended, and its checksum was right.
  var hasEnded: Bool { result == Z_STREAM_END }

  /// Whether the stream ends where its pieces do, and is no larger than a picture of this size with 8 bits a sample: so
  /// that nothing else is in them.
  consuming func fill(_ size: PixelSize) -> Bool {
    // With a byte for each row, of which an interlaced picture has up to twice as many and 7 more.
    let most = (size.width * 3 + 2) * (size.height + 7)
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    defer { room.deallocate() }
    var (total, came) = (0, room.count)
    while came == room.count, total <= most {
      came = read(into: room)
      total += came
    }
    return hasEnded && total <= most && stream.pointee.avail_in == 0 && pieces.allSatisfy(\.isEmpty)
  }
}
