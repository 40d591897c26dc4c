import FuzzSupport

@testable import Images

/// What a picture says of its colours: an ICC profile for each kind of picture, one inflated from a PNG, and the other
/// chunks of a PNG, by the first byte. What is accepted converts a few pixels and writes no others.
@main enum FuzzProfile: FuzzTarget {
  static func take(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let content = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    do throws(ImageRefusal) {
      switch choice % 6 {
      case 0: try convert(ColourProfile(icc: Array(content)), .rgb, isGrey: false)
      case 1: try convert(ColourProfile(icc: Array(content)), .rgba, isGrey: true)
      case 2: try convert(ColourProfile(icc: Array(content)), .inks, isGrey: false)
      case 3: try convert(ColourProfile(icc: Array(content)), .rgb, isGrey: true)
      case 4:
        let profile = try InflatedProfile.inflate(content[...])
        require(profile.count <= ColourProfile.maxBytes, "an inflated profile is bounded")
        try convert(ColourProfile(icc: profile), .rgb, isGrey: false)
      default:
        if let profile = try chunks(content).profile(content) { try convert(profile, .rgb, isGrey: false) }
      }
    } catch {
      require([.colourProfile, .notProcessed].contains(error.code), "a refusal of the colours: \(error)")
      requireShowable(error.description, limit: 1000, "the refusal")
    }
  }

  /// Converts a few pixels, behind which nothing may change.
  private static func convert(
    _ profile: ColourProfile, _ layout: PixelLayout, isGrey: Bool
  ) throws(ImageRefusal) {
    guard let conversion = try profile.conversion(layout, isGrey: isGrey) else { return }
    var pixels = try PixelBuffer(PixelSize(8, 4), layout)
    let count = pixels.size.pixels * layout.samples
    for index in 0..<count { pixels.start[index] = UInt8(truncatingIfNeeded: index &* 37) }
    pixels.finishColours(conversion)
    require(pixels.layout == .rgb, "RGB comes out")
  }

  /// Two bytes a chunk, which chunk and how long, and then its content.
  private static func chunks(_ content: UnsafeRawBufferPointer) -> PNGColours {
    let names = ["cICP", "iCCP", "sRGB", "gAMA", "cHRM"]
    var colours = PNGColours()
    var position = 0
    while position + 2 <= content.count {
      let name = names[Int(content[position]) % names.count]
      let end = min(position + 2 + Int(content[position + 1]), content.count)
      colours.note(name, position + 2..<end)
      position = end
    }
    return colours
  }
}
