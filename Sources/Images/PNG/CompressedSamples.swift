import Czlib

/// The samples of a PNG: one zlib stream, in pieces that are the contents of the data chunks.
enum CompressedSamples {
  /// Whether the stream ends where its pieces do, and is no larger than a picture of this size with 8 bits a sample: so
  /// that nothing else is in them.
  static func fill(_ pieces: [Range<Int>], of bytes: UnsafeRawBufferPointer, _ size: PixelSize) -> Bool {
    var stream = z_stream()
    guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return false }
    defer { inflateEnd(&stream) }
    // With a byte for each row, of which an interlaced picture has up to twice as many and 7 more.
    let most = UInt((size.width * 3 + 2) * (size.height + 7))
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 16) { room in
      var result = Z_OK
      for piece in pieces where !piece.isEmpty {
        guard result == Z_OK else { return false }  // It has ended before.
        stream.next_in = UnsafeMutablePointer(mutating: start + piece.lowerBound)
        stream.avail_in = UInt32(piece.count)
        repeat {
          stream.next_out = room.baseAddress
          stream.avail_out = UInt32(room.count)
          result = inflate(&stream, Z_NO_FLUSH)
          // Nothing is wrong: what comes next is in the next piece.
          if result == Z_BUF_ERROR, stream.avail_in == 0 { result = Z_OK }
        } while result == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0) && stream.total_out <= most
        guard stream.avail_in == 0, stream.total_out <= most else { return false }
      }
      return result == Z_STREAM_END
    }
  }
}
