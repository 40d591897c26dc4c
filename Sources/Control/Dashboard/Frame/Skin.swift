import Support

/// As what the pages show themselves: the product's name, colours and logo.
struct Skin: Sendable {
  let name: String
  let accent: Accent?
  /// A clean JPEG.
  let logo: [UInt8]?

  /// Where no product is named.
  static let usual = Skin(name: "Analysis queue")
  /// Where the logo is.
  static let logoPath = "/logo"

  /// A product's.
  init(name: String, accent: Accent? = nil, logo: [UInt8]? = nil) {
    self.name = name
    self.accent = accent
    self.logo = logo
  }

  /// The rules that stand behind those of all pages.
  var css: String { accent.map { "\n" + $0.css } ?? "" }
}
