import Clcms2

/// The primaries and the white of an RGB space, as places in the CIE 1931 diagram.
struct ColourPrimaries: Equatable {
  struct Place: Equatable {
    let x: Double
    let y: Double

    init(_ x: Double, _ y: Double) {
      self.x = x
      self.y = y
    }

    var xyY: cmsCIExyY { cmsCIExyY(x: x, y: y, Y: 1) }
  }

  var white = Place(0.3127, 0.3290)
  let red: Place
  let green: Place
  let blue: Place

  var all: [Place] { [white, red, green, blue] }

  static let sRGB = ColourPrimaries(red: Place(0.64, 0.33), green: Place(0.30, 0.60), blue: Place(0.15, 0.06))
  static let displayP3 = ColourPrimaries(
    red: Place(0.680, 0.320), green: Place(0.265, 0.690), blue: Place(0.150, 0.060))
  static let bt2020 = ColourPrimaries(
    red: Place(0.708, 0.292), green: Place(0.170, 0.797), blue: Place(0.131, 0.046))
}
