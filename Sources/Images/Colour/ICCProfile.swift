/// The bytes of an ICC profile: a header of 128 bytes, the number of tags, and 12 bytes for each tag.
enum ICCProfile {
  private static let floatingTables = ["D2B0", "D2B1", "D2B2", "D2B3"]

  /// The profile without its tables in floating point, so that lcms2 takes the ordinary ones, which every
  /// profile has beside them. One of 1 MiB can name so many steps that a single picture costs minutes.
  static func withoutFloatingTables(_ profile: [UInt8]) -> [UInt8] {
    var profile = profile
    let firstTag = 132
    guard profile.count >= firstTag else { return profile }
    let count = profile[128..<firstTag].reduce(0) { $0 << 8 | Int($1) }
    for tag in 0..<count {
      let start = firstTag + tag * 12
      guard start + 4 <= profile.count else { break }
      if floatingTables.contains(String(decoding: profile[start..<start + 4], as: UTF8.self)) {
        profile.replaceSubrange(start..<start + 4, with: Array("none".utf8))
      }
    }
    return profile
  }
}
