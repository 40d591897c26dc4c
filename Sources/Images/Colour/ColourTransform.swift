import Clcms2

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
