import HTTPServing
import Support

/// What stands around every page: title, menu, who reads it, and the links to the stylesheet and the script.
struct Frame {
  /// Where a reader logs out.
  static let logOutPath = "/log-out"

  /// As what it shows itself.
  var skin = Skin.usual
  /// The part of the dashboard to which the page belongs; nil for the page by which a reader logs in.
  var section: Section?
  /// The parts that the menu leads to.
  var sections: [Section] = []
  /// As whom the page was read, and where.
  var foot: HTML
  /// What the form carries by which the reader logs out; nil where nobody has logged in.
  var logOut: String?
  /// What came of what was asked for a moment ago.
  var message: Message?
  /// How old the oldest of what is shown is, where it was not its turn to be read; nil where nothing is.
  var age: Duration?
  /// What stands behind the path of the page's address.
  var query = FormValues()

  /// How often a page without the script loads itself anew, in seconds.
  private static let reloadSeconds = 10

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
    \(menu)\(logOut.map(logOutForm))</header>
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

  private func logOutForm(_ token: String) -> HTML {
    """
    <form method="post" action="\(Self.logOutPath)"><input type="hidden" name="token" value="\(token)">\
    <button>Log out</button></form>

    """
  }

  private func entry(_ entry: Section) -> HTML {
    let current: HTML = entry == section ? " aria-current=\"page\"" : ""
    return "<li><a href=\"\(entry.path)\"\(current)>\(entry.title)</a></li>"
  }
}

/// What `/live.js` is. The pages are whole without it.
enum LiveScript {
  /// On an event it reads the page once more, and makes each part that is marked `data-live` what the fresh one is. An
  /// element with an id stays the one that it was, wherever it stands then: so the focus, what is unfolded and what was
  /// entered stay with what they are of. In a chart it says the values of the moment where the pointer is.
  static let javaScript = """
    "use strict";
    (() => {
      if (!document.querySelector("main[data-live]")) return;
      const base = document.currentScript.src;
      const state = document.getElementById("live-state");
      let isLoading = false;

      function say(text) {
        if (state.textContent !== text) state.textContent = text;
        state.hidden = text === "";
      }

      function morphAttributes(old, fresh) {
        for (const { name } of [...old.attributes]) {
          if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
        }
        for (const { name, value } of fresh.attributes) {
          if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
        }
      }

      function morph(old, fresh) {
        if (old.isEqualNode(fresh)) return;
        morphAttributes(old, fresh);
        const wanted = new Set([...fresh.children].map((child) => child.id));
        for (const child of [...old.children]) if (child.id && !wanted.has(child.id)) child.remove();
        const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
        let place = old.firstChild;
        for (const node of [...fresh.childNodes]) {
          const same = node.id ? known.get(node.id) : place?.id ? null : place;
          if (!same || same.nodeName !== node.nodeName) {
            old.insertBefore(node, place);
            continue;
          }
          if (same === place) place = place.nextSibling;
          else old.insertBefore(same, place);
          if (same.nodeType === Node.ELEMENT_NODE) morph(same, node);
          else if (same.nodeValue !== node.nodeValue) same.nodeValue = node.nodeValue;
        }
        while (place) {
          const next = place.nextSibling;
          place.remove();
          place = next;
        }
      }

      function replace(part, fresh) {
        const active = part.contains(document.activeElement) ? document.activeElement : null;
        const region = active?.closest("[tabindex]");
        morph(part, fresh);
        // What was moved lost the focus; what has gone leaves it to the table in which it stood.
        if (active && document.activeElement !== active) {
          (active.isConnected ? active : region)?.focus({ preventScroll: true });
        }
      }

      async function update() {
        if (isLoading || document.hidden) return;
        isLoading = true;
        try {
          const answer = await fetch(location.href, { headers: { "X-Live": "1" } });
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          const parts = [...document.querySelectorAll("main [data-live]")];
          const fresh = parts.map((part) => page.getElementById(part.id));
          if (!answer.ok || fresh.includes(null)) {
            const title = page.querySelector("h1")?.textContent ?? "the server does not answer";
            say("Not brought up to date: " + title + ". Load the page anew.");
            return;
          }
          parts.forEach((part, index) => replace(part, fresh[index]));
          say("");
        } catch {
          say("Not brought up to date: the dashboard does not answer. It is asked again.");
        } finally {
          isLoading = false;
        }
      }

      document.addEventListener("pointerover", (event) => {
        const moment = event.target.closest(".moments path");
        if (moment) moment.closest("figure").querySelector(".reading").textContent = moment.textContent;
      });

      const events = new EventSource(new URL("events", base));
      let polling = 0;
      events.addEventListener("changed", update);
      events.addEventListener("error", () => {
        // Too many listen already: this page asks by itself instead.
        if (events.readyState === EventSource.CLOSED && polling === 0) polling = setInterval(update, 10000);
      });
      document.addEventListener("visibilitychange", update);
      window.addEventListener("pagehide", () => { events.close(); clearInterval(polling); });
    })();

    """
}

/// The parts of the dashboard, in the order of its menu.
enum Section: String, CaseIterable, Sendable {
  case overview, jobs, failures, batches, workers, usage, reviews, audit

  var path: String { self == .overview ? "/" : "/\(rawValue)" }

  /// What the menu and its heading call it.
  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

/// As what the pages show themselves: the product's name, colours and logo.
struct Skin: Sendable {
  let name: String
  var accent: Accent?
  var logo: [UInt8]?

  /// Where no product is named.
  static let usual = Skin(name: "Analysis queue")
  /// Where the logo is.
  static let logoPath = "/logo"

  /// The rules that stand behind those of all pages.
  var css: String { accent.map { "\n" + $0.css } ?? "" }
}

/// Tells browsers every few seconds to bring their pages up to date. It works only while somebody looks.
actor LiveFeed {
  nonisolated let events: HTTPEvents
  private let pause: @Sendable () async throws -> Void
  private var isRunning = false

  /// - Parameter pause: Waits until the next event is due.
  init(atMost most: Int, pause: @escaping @Sendable () async throws -> Void) {
    events = HTTPEvents(atMost: most)
    self.pause = pause
  }

  /// The answer to a browser that listens.
  nonisolated func answer() -> HTTPAnswer {
    .events(events) { Task { await self.run() } }
  }

  /// Goes on until nobody listens. That nobody does is seen and noted in one step, so that whoever comes
  /// then begins it anew.
  private func run() async {
    guard !isRunning else { return }
    isRunning = true
    defer { isRunning = false }
    while events.listeners > 0 {
      do { try await pause() } catch { return }
      events.send("changed")
    }
  }
}
