import Clcms2

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
