import Clcms2
import Glibc

/// What a picture's samples stand for: the profile that came with it, opened by lcms2. Each has a context of
/// its own, so cleaning may run on any number of threads.
final class ColourProfile {
  private let context: cmsContext
  private let handle: cmsHPROFILE

  /// The most bytes of a profile that is read.
  static let maxBytes = 1 << 20
  /// The greatest difference (CIEDE2000) up to which a profile means the same as sRGB.
  private static let leastDifference = 0.5

  private init(_ open: (cmsContext) -> cmsHPROFILE?) throws(ImageRefusal) {
    guard let context = cmsCreateContext(nil, nil) else { throw .notProcessed("memory is short") }
    guard let handle = open(context) else {
      cmsDeleteContext(context)
      throw .colourProfile("its colour profile cannot be read")
    }
    self.context = context
    self.handle = handle
  }

  deinit {
    cmsCloseProfile(handle)
    cmsDeleteContext(context)
  }

  /// Opens an ICC profile.
  convenience init(icc profile: [UInt8]) throws(ImageRefusal) {
    guard profile.count <= Self.maxBytes else { throw Self.tooLarge }
    let bounded = ICCProfile.withoutFloatingTables(profile)
    try self.init { context in
      // lcms2 copies the bytes.
      bounded.withUnsafeBytes { cmsOpenProfileFromMemTHR(context, $0.baseAddress, UInt32($0.count)) }
    }
  }

  /// A profile of three primaries, a white and one curve for all three.
  convenience init(_ primaries: ColourPrimaries, _ curve: ToneCurve) throws(ImageRefusal) {
    guard primaries.all.allSatisfy({ $0.y > 0 }) else {
      throw .colourProfile("its primary colours are impossible")
    }
    try self.init { context in
      guard let tone = curve.built(in: context) else { return nil }
      defer { cmsFreeToneCurve(tone) }
      var white = primaries.white.xyY
      var triple = cmsCIExyYTRIPLE(
        Red: primaries.red.xyY, Green: primaries.green.xyY, Blue: primaries.blue.xyY)
      return cmsCreateRGBProfileTHR(context, &white, &triple, [tone, tone, tone])
    }
  }

  static let tooLarge = ImageRefusal.colourProfile("its colour profile has more than 1,048,576 bytes")

  // MARK: - To sRGB

  /// The way from this profile to sRGB, or nil if the profile means the same as sRGB.
  ///
  /// - Parameters:
  ///   - layout: How the samples lie that are to be converted.
  ///   - isGrey: Whether the picture itself is grey; red, green and blue are then alike.
  func conversion(_ layout: PixelLayout, isGrey: Bool) throws(ImageRefusal) -> ColourConversion? {
    let space = cmsGetColorSpace(handle)
    guard isOfPictures, Self.spaces(layout, isGrey: isGrey).contains(space) else {
      throw .colourProfile("its colour profile is for another kind of picture")
    }
    let isGreyProfile = space == cmsSigGrayData
    if layout != .inks, try meansSRGB(isGreyProfile) { return nil }
    let standard = try ColourProfile { cmsCreate_sRGBProfileTHR($0) }
    // The table that lcms2 makes of a long way; for four inks its usual one is fine enough.
    let flags = layout == .inks ? 0 : UInt32(cmsFLAGS_HIGHRESPRECALC)
    if isGreyProfile {
      let table = try transform(lcms_grey_8, to: standard.handle, lcms_rgb_8, flags)
      return .grey(table.ofAllGreys)
    }
    let (from, to) =
      switch layout {
      case .rgb: (lcms_rgb_8, lcms_rgb_8)
      case .rgba: (lcms_rgba_8, lcms_rgba_8)
      case .inks: (lcms_inks_8, lcms_rgb_8)
      }
    return .colours(try transform(from, to: standard.handle, to, flags))
  }

  /// Whether the profile is of a device or a space, and not of a chain of devices or an effect.
  private var isOfPictures: Bool {
    [cmsSigInputClass, cmsSigDisplayClass, cmsSigOutputClass, cmsSigColorSpaceClass]
      .contains(cmsGetDeviceClass(handle))
  }

  /// The spaces that a profile for such samples may be of. A grey picture under a profile of three colours is
  /// read as red, green and blue that are alike.
  private static func spaces(_ layout: PixelLayout, isGrey: Bool) -> [cmsColorSpaceSignature] {
    switch layout {
    case .inks: [cmsSigCmykData]
    case .rgb, .rgba: isGrey ? [cmsSigGrayData, cmsSigRgbData] : [cmsSigRgbData]
    }
  }

  private func transform(
    _ from: UInt32, to target: cmsHPROFILE, _ format: UInt32, _ flags: UInt32
  ) throws(ImageRefusal) -> ColourTransform {
    // Where a profile has no table for the intent, lcms2 takes the one that it has.
    let made = cmsCreateTransformTHR(
      context, handle, from, target, format, UInt32(INTENT_RELATIVE_COLORIMETRIC),
      UInt32(cmsFLAGS_BLACKPOINTCOMPENSATION) | flags)
    guard let made else { throw .colourProfile("its colour profile cannot be applied") }
    return ColourTransform(made, of: self)
  }

  // MARK: - What is sRGB

  /// Whether a grid of colours looks the same under this profile as under sRGB. Names are not asked: many
  /// profiles of sRGB have another, and a profile of another space may bear it.
  private func meansSRGB(_ isGrey: Bool) throws(ImageRefusal) -> Bool {
    let grid = isGrey ? Self.greys : Self.grid
    let own = try appearance(of: grid, isGrey ? lcms_grey_double : lcms_rgb_double)
    let standard = try ColourProfile { cmsCreate_sRGBProfileTHR($0) }
      .appearance(of: isGrey ? grid.flatMap { [$0, $0, $0] } : grid, lcms_rgb_double)
    return zip(own, standard).allSatisfy { own, standard in
      var (own, standard) = (own, standard)
      // A number that is none is no small difference.
      return cmsCIE2000DeltaE(&own, &standard, 1, 1, 1) < Self.leastDifference
    }
  }

  /// How samples look, as CIELAB.
  private func appearance(of samples: [Double], _ format: UInt32) throws(ImageRefusal) -> [cmsCIELab] {
    let space = try ColourProfile { cmsCreateLab4ProfileTHR($0, nil) }
    let looks = try transform(
      format, to: space.handle, lcms_lab_double, UInt32(cmsFLAGS_NOOPTIMIZE | cmsFLAGS_NOCACHE))
    let count = format == lcms_grey_double ? samples.count : samples.count / 3
    var colours = [cmsCIELab](repeating: cmsCIELab(), count: count)
    looks.apply(to: samples, into: &colours, count: count)
    return colours
  }

  private static let greys = (0...255).map { Double($0) / 255 }
  private static let grid: [Double] = {
    let levels = (0...8).map { Double($0) / 8 }
    return levels.flatMap { red in levels.flatMap { green in levels.flatMap { [red, green, $0] } } }
  }()
}

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

/// The primaries and the white of an RGB space, as points of the CIE 1931 diagram.
struct ColourPrimaries: Equatable {
  struct Point: Equatable {
    let x: Double
    let y: Double

    init(_ x: Double, _ y: Double) {
      self.x = x
      self.y = y
    }

    var xyY: cmsCIExyY { cmsCIExyY(x: x, y: y, Y: 1) }
  }

  var white = Point(0.3127, 0.3290)
  let red: Point
  let green: Point
  let blue: Point

  var all: [Point] { [white, red, green, blue] }

  static let sRGB = ColourPrimaries(red: Point(0.64, 0.33), green: Point(0.30, 0.60), blue: Point(0.15, 0.06))
  static let displayP3 = ColourPrimaries(
    red: Point(0.680, 0.320), green: Point(0.265, 0.690), blue: Point(0.150, 0.060))
  static let bt601Of625 = ColourPrimaries(
    red: Point(0.64, 0.33), green: Point(0.29, 0.60), blue: Point(0.15, 0.06))
  static let bt601Of525 = ColourPrimaries(
    red: Point(0.630, 0.340), green: Point(0.310, 0.595), blue: Point(0.155, 0.070))
  static let bt2020 = ColourPrimaries(
    red: Point(0.708, 0.292), green: Point(0.170, 0.797), blue: Point(0.131, 0.046))
}

/// How samples stand for light.
enum ToneCurve: Equatable {
  /// A power: 2.2.
  case power(Double)
  case sRGB
  /// The curve that BT.709 and BT.2020 give for cameras, read backwards, as browsers and profiles of BT.2020 do.
  case bt709

  /// The curve as lcms2 holds it; the caller frees it.
  func built(in context: cmsContext) -> OpaquePointer? {
    // Above d: (a x + b) to the power g; below it: c x.
    let (g, a, b, c, d): (Double, Double, Double, Double, Double) =
      switch self {
      case .power(let exponent): (exponent, 1, 0, 0, 0)
      case .sRGB: (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
      case .bt709:
        (1 / 0.45, 1 / 1.09929682680944, 0.09929682680944 / 1.09929682680944, 1 / 4.5, 0.081242858298635)
      }
    return cmsBuildParametricToneCurve(context, 4, [g, a, b, c, d])
  }
}

/// The way from a picture's own colours to sRGB. Colours that sRGB does not hold become the nearest that lcms2
/// finds.
enum ColourConversion {
  /// By a transform for the picture's layout.
  case colours(ColourTransform)
  /// By a table from a grey to red, green and blue.
  case grey([UInt8])
}

extension PixelBuffer {
  /// Converts the picture to sRGB, a row at a time; inks become RGB thereby.
  mutating func convert(by conversion: ColourConversion) {
    switch conversion {
    case .colours(let transform): convert(by: transform)
    case .grey(let table): convert(by: table)
    }
  }

  private mutating func convert(by transform: ColourTransform) {
    let (start, size) = (start, size)
    let (from, to) = (size.width * layout.samples, size.width * (layout == .rgba ? 4 : 3))
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: from) { row in
      guard let row = row.baseAddress else { return }
      for number in 0..<size.height {
        memcpy(row, start + number * from, from)
        transform.apply(to: row, into: start + number * to, count: size.width)
      }
    }
    if layout == .inks { layout = .rgb }
  }

  /// The samples of a grey picture are alike; the first is looked up.
  private mutating func convert(by table: [UInt8]) {
    let (start, size, samples) = (start, size, layout.samples)
    table.withUnsafeBufferPointer { table in
      for pixel in 0..<size.pixels {
        let at = start + pixel * samples
        let grey = Int(at[0]) * 3
        at[0] = table[grey]
        at[1] = table[grey + 1]
        at[2] = table[grey + 2]
      }
    }
  }
}

/// One transform of lcms2.
final class ColourTransform {
  private let handle: cmsHTRANSFORM
  /// Its context outlives the transform.
  private let profile: ColourProfile

  init(_ handle: cmsHTRANSFORM, of profile: ColourProfile) {
    self.handle = handle
    self.profile = profile
  }

  deinit { cmsDeleteTransform(handle) }

  /// Converts so many pixels; the two rows must not overlap.
  func apply(to row: UnsafePointer<UInt8>, into result: UnsafeMutablePointer<UInt8>, count: Int) {
    cmsDoTransform(handle, row, result, UInt32(count))
  }

  /// Converts samples to colours.
  func apply(to samples: [Double], into colours: inout [cmsCIELab], count: Int) {
    cmsDoTransform(handle, samples, &colours, UInt32(count))
  }

  /// What each grey of 8 bits becomes: 256 times red, green and blue.
  var ofAllGreys: [UInt8] {
    var result = [UInt8](repeating: 0, count: 256 * 3)
    cmsDoTransform(handle, (0...255).map { UInt8($0) }, &result, 256)
    return result
  }
}
