import HTTPServing
import Support

/// What stands around every page: title, menu, who reads it, and the links to the stylesheet and the script.
struct Frame {
  /// As what it shows itself.
  var skin = Skin.usual
  /// The part of the dashboard to which the page belongs; nil for the page that asks for the token.
  var section: Section?
  /// The parts that the menu leads to.
  var sections: [Section] = []
  /// As whom the page was read, and where.
  var foot: HTML
  /// What came of what was asked for a moment ago.
  var message: Message?
  /// How old the oldest of what is shown is, where it was not its turn to be read; nil where nothing is.
  var age: Duration?
  /// What stands behind the path of the page's address.
  var query = FormValues()

  /// How often a page without the script loads itself anew, in seconds.
  private static let reloadSeconds = 10

  /// The whole page.
  func html(_ page: Page) -> HTML {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>\(page.title) – \(skin.name)</title>
    <link rel="stylesheet" href="/style.css">
    <link rel="icon" href="/icon.svg" type="image/svg+xml">
    \(page.isLive ? reload : "" as HTML)</head>
    <body>
    <a class="skip" href="#content">To the content</a>
    <header>
    <p class="product">\(logo)\(skin.name)</p>
    \(menu)</header>
    <main id="content" tabindex="-1"\(page.isLive ? " data-live" : "" as HTML)>
    <h1>\(page.title)</h1>
    \(message?.html)<p id="live-state" class="notice" role="status" hidden></p>
    \(page.isLive ? asOf : nil)\(page.content)
    </main>
    <footer>\(foot)</footer>
    </body>
    </html>

    """
  }

  private var reload: HTML {
    let pairs = query.pairs.filter { $0.name != Visit.reloadMark }.map {
      (name: $0.name, value: Optional($0.value))
    }
    let address = HTML.address("", pairs + [(Visit.reloadMark, "1")])
    return """
      <script src="/live.js" defer></script>
      <noscript><meta http-equiv="refresh" content="\(Self.reloadSeconds); url=\(address)"></noscript>

      """
  }

  /// How old the page is, where it is not as new as an open page may be.
  private var asOf: HTML {
    let text = age.map { age -> HTML in
      let seconds = Moment.age(age.inSeconds.rounded(.up))
      return "<p class=\"quiet\">As of \(seconds) ago. The pages that are open are read in turn.</p>"
    }
    return "\(HTML.live("as-of", text ?? ""))\n"
  }

  private var logo: HTML {
    skin.logo == nil ? "" : "<img class=\"product\" src=\"\(Skin.logoPath)\" alt=\"\"> "
  }

  private var menu: HTML {
    guard !sections.isEmpty else { return "" }
    return "<nav aria-label=\"Pages\"><ul>\(sections.map(entry))</ul></nav>\n"
  }

  private func entry(_ entry: Section) -> HTML {
    let current: HTML = entry == section ? " aria-current=\"page\"" : ""
    return "<li><a href=\"\(entry.path)\"\(current)>\(entry.title)</a></li>"
  }
}
