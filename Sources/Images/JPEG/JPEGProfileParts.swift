/// The ICC profile of a JPEG: one segment of at most 64 KiB, or several, each with its number and how many
/// there are.
struct JPEGProfileParts {
  private static let mark = Array("ICC_PROFILE\0".utf8)

  /// Number, count, and offsets of the profile's bytes in the file, for each segment.
  private var parts: [(number: Int, count: Int, bytes: Range<Int>)] = []

  /// Notes an APP2 segment, if it holds a part of a profile.
  mutating func note(_ bytes: UnsafeRawBufferPointer, _ content: Range<Int>) {
    guard bytes[content].starts(with: Self.mark) else { return }
    let numbers = content.lowerBound + Self.mark.count
    guard numbers + 2 <= content.upperBound else { return parts.append((0, 0, content)) }
    parts.append((Int(bytes[numbers]), Int(bytes[numbers + 1]), numbers + 2..<content.upperBound))
  }

  /// The whole profile, nil if there is none. The parts may come in any order, but each once.
  func profile(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> [UInt8]? {
    guard !parts.isEmpty else { return nil }
    let sorted = parts.sorted { $0.number < $1.number }
    for (index, part) in sorted.enumerated() where part.number != index + 1 || part.count != sorted.count {
      throw .colourProfile("parts of its colour profile are missing or there twice")
    }
    guard sorted.reduce(0, { $0 + $1.bytes.count }) <= ColourProfile.maxBytes else {
      throw ColourProfile.tooLarge
    }
    return sorted.flatMap { bytes[$0.bytes] }
  }
}
