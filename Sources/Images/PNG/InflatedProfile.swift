import Czlib

/// The ICC profile of an iCCP chunk: a name, a zero, the method 0, and the profile as a zlib stream.
enum InflatedProfile {
  static func inflate(_ content: Slice<UnsafeRawBufferPointer>) throws(ImageRefusal) -> [UInt8] {
    let bytes = Array(content)
    let longestName = 79
    guard let zero = bytes.prefix(longestName + 1).firstIndex(of: 0), zero + 2 < bytes.count,
      bytes[zero + 1] == 0
    else { throw unreadable }
    let packed = bytes[(zero + 2)...]
    // One more than is accepted, so that a larger one is told from one that is damaged.
    let room = ColourProfile.maxBytes + 1
    var result: Int32 = Z_DATA_ERROR
    let profile = [UInt8](unsafeUninitializedCapacity: room) { profile, count in
      var length = UInt(room)
      result = packed.withUnsafeBufferPointer {
        uncompress(profile.baseAddress, &length, $0.baseAddress, UInt($0.count))
      }
      count = result == Z_OK ? Int(length) : 0
    }
    // What fills the room without reaching its end; a stream that is cut off leaves room.
    guard result != Z_BUF_ERROR, profile.count <= ColourProfile.maxBytes else { throw ColourProfile.tooLarge }
    guard result == Z_OK else { throw unreadable }
    return profile
  }

  private static let unreadable = ImageRefusal.colourProfile("its colour profile cannot be read")
}
