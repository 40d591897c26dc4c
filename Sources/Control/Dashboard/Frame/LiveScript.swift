/// What `/live.js` is. The pages are whole without it.
enum LiveScript {
  /// On an event it reads the page once more and replaces the parts that are marked `data-live`, by their ids. A part
  /// in which a form is being used is left alone; the focus and what was unfolded stay.
  static let javaScript = """
    "use strict";
    (() => {
      if (!document.querySelector("main[data-live]")) return;
      const state = document.getElementById("live-state");
      const focusable = "a, button, summary, input, select, [tabindex]";
      let isLoading = false;

      function say(text) {
        if (state.textContent !== text) state.textContent = text;
        state.hidden = text === "";
      }

      function isBusy(part) {
        const active = document.activeElement;
        return part.contains(active) && active.closest("form") !== null;
      }

      function replace(part, fresh) {
        if (isBusy(part) || part.innerHTML === fresh.innerHTML) return;
        const focused = [...part.querySelectorAll(focusable)].indexOf(document.activeElement);
        const unfolded = [...part.querySelectorAll("details")].map((details) => details.open);
        part.innerHTML = fresh.innerHTML;
        part.querySelectorAll("details").forEach((details, index) => { details.open = unfolded[index] ?? false; });
        if (focused >= 0) part.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
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

      const events = new EventSource("/events");
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
