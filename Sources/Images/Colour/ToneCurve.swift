import Clcms2

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
