/// The colours of what is shown in a browser, as variables of CSS.
public enum Palette {
  /// The colours have a contrast of at least 4.5 to 1 with what they stand on (WCAG 2.2, 1.4.3), in both schemes.
  public static let css = """
    :root { --ink: #1b1f24; --paper: #ffffff; --soft: #f3f5f7; --line: #c6ccd3; --quiet: #525b66; --link: #0b57a4;
      --good: #176b33; --warn: #7a4f00; --bad: #a8201a; --second: #6b3fa0; }
    @media screen and (prefers-color-scheme: dark) {
      :root { --ink: #e6e9ed; --paper: #14171b; --soft: #1f242a; --line: #454d57; --quiet: #a9b2bd; --link: #7ab8ff;
        --good: #6fce8b; --warn: #e3b341; --bad: #ff8f87; --second: #c8a6f5; } }
    """

  /// What links stand on: the page, and its head.
  static let lightPapers = ["#ffffff", "#f3f5f7"]
  static let darkPapers = ["#14171b", "#1f242a"]
}

/// The colour of links, bars and titles, in the light and in the dark scheme.
public struct Accent: Sendable, Equatable, Codable {
  /// The colour on light and on dark pages.
  public let light, dark: Colour

  /// A colour on each of both.
  public init(light: Colour, dark: Colour) {
    self.light = light
    self.dark = dark
  }

  /// A colour that cannot be read on what it stands on.
  public struct Faint: Sendable, Equatable {
    /// The contrast with it.
    public let contrast: Double
    /// What it stands on.
    public let paper: Colour
  }

  /// Where a colour has less contrast than text may have, if anywhere; nil where it can be read.
  public static func faint(_ colour: Colour, isDark: Bool) -> Faint? {
    let papers = (isDark ? Palette.darkPapers : Palette.lightPapers).compactMap { Colour($0) }
    let worst = papers.min { colour.contrast(with: $0) < colour.contrast(with: $1) }
    guard let worst, colour.contrast(with: worst) < Colour.leastContrast else { return nil }
    return Faint(contrast: colour.contrast(with: worst), paper: worst)
  }

  /// The rules that put it in the place of the palette's, behind which they have to stand.
  public var css: String {
    ":root { --link: \(light); } @media screen and (prefers-color-scheme: dark) { :root { --link: \(dark); } }"
  }
}
