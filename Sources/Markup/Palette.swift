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
}
