/// What a review's page has beside its markup. It is whole without the script, which adds the keys.
enum ReviewScript {
  static let path = "/review.js"

  /// What has `data-key` is chosen, pressed or entered by that key, as long as nobody types; `r` turns the photo and Enter
  /// saves. A form is sent once, and not without a verdict or a comment.
  static let javaScript = """
    "use strict";
    (() => {
      const page = document.querySelector(".review");
      const form = page?.querySelector("form");
      if (!form) return;
      const [state, instead, comment] = ["review-state", "instead", "comment"].map((id) => document.getElementById(id));
      const verdict = (name) => form.querySelector(`[name=verdict][value=${name}]`);
      const turns = [...page.querySelectorAll("[name=turn]")];
      const keys = document.getElementById("keys");
      let isSent = false;

      // Whoever speaks to the browser, or whose hand trembles, switches the keys off; for as long as the tab is open.
      if (keys) keys.checked = sessionStorage.getItem("keys") !== "off";
      const areOn = () => keys?.checked ?? true;
      const show = () => page.classList.toggle("keyed", areOn());
      keys?.addEventListener("change", () => {
        sessionStorage.setItem("keys", keys.checked ? "on" : "off");
        show();
      });
      show();

      form.addEventListener("submit", (event) => {
        const isEmpty = !form.querySelector("[name=verdict]:checked") && comment.value.trim() === "";
        if (isEmpty) state.textContent = "Choose a verdict first, or write a comment.";
        if (isEmpty || isSent) event.preventDefault(); else isSent = true;
      });
      window.addEventListener("pageshow", () => { isSent = false; });
      instead.addEventListener("input", () => { if (instead.value !== "") verdict("disagree").checked = true; });
      for (const name of ["agree", "unsure"]) verdict(name).addEventListener("change", () => { instead.value = ""; });

      function turn() {
        const next = turns[(turns.findIndex((one) => one.checked) + 1) % turns.length];
        if (next) next.checked = true;
      }

      function press(element) {
        if (element.type === "radio") {
          element.checked = true;
          element.dispatchEvent(new Event("change"));
        } else if (element.matches("a")) {
          element.click();
        } else {
          if (element === instead) verdict("disagree").checked = true;
          element.focus();
        }
      }

      document.addEventListener("keydown", (event) => {
        const isText = event.target.matches("textarea, input:not([type=radio], [type=checkbox])");
        if (event.key === "Escape" && isText) return event.target.blur();
        if (event.altKey || event.metaKey || event.isComposing || event.repeat || !areOn()) return;
        const save = event.key === "Enter" && (isText ? event.ctrlKey : !event.target.matches("a, button"));
        if ((isText || event.ctrlKey) && !save) return;
        const element = page.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
        if (!save && !element && event.key !== "r") return;
        event.preventDefault();
        if (save) form.requestSubmit(document.getElementById("save"));
        else if (element) press(element);
        else turn();
      });
    })();

    """

  /// The photo stands beside what is said of it where there is room. It is fitted and turned by what is chosen before it.
  static let css = """
    .review { display: grid; gap: .75rem 1.5rem; grid-template-columns: minmax(0, 1fr); }
    .review input[type=radio], .review form.confirm input[type=radio], .review input[type=checkbox] { width: 1.5rem;
      min-height: 1.5rem; height: 1.5rem; margin: 0; vertical-align: middle; }
    .review .viewer { position: relative; min-width: 0; display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center;
      align-content: start; }
    .review .viewer p { margin: 0; }
    .review .viewer input[type=radio] { position: absolute; opacity: 0; }
    .review .viewer input[type=radio] + label { padding: .2rem .5rem; color: var(--ink); cursor: pointer;
      border: 1px solid var(--quiet); border-radius: .3rem; }
    .review .viewer input[type=radio]:checked + label { border-color: var(--link); box-shadow: inset 0 -3px var(--link); }
    .review .viewer input[type=radio]:focus-visible + label { outline: 3px solid var(--link); outline-offset: 2px; }
    .review .photo { flex: 0 0 100%; height: min(70vh, 100vw, 46rem); container-type: size; overflow: hidden; display: grid;
      grid-template: 100% / 100%; place-items: center; background: var(--soft); border: 1px solid var(--line); }
    .review .photo img { width: 100%; height: 100%; object-fit: contain; }
    #turn-180:checked ~ .photo img { transform: rotate(180deg); }
    #turn-90:checked ~ .photo img { width: 100cqh; height: 100cqw; transform: rotate(90deg); }
    #turn-270:checked ~ .photo img { width: 100cqh; height: 100cqw; transform: rotate(270deg); }
    #full:checked ~ .photo { display: block; overflow: auto; }
    #full:checked ~ .photo img { width: auto; height: auto; max-width: none; object-fit: fill; }
    #full:checked ~ #turn-90:checked ~ .photo img { transform-origin: 0 0; transform: rotate(90deg) translateY(-100%); }
    #full:checked ~ #turn-270:checked ~ .photo img { transform-origin: 0 0; transform: rotate(270deg) translateX(-100%); }
    .review kbd { display: none; font: inherit; font-size: .875rem; color: var(--ink); padding: 0 .3rem;
      border: 1px solid var(--quiet); border-radius: .2rem; background: var(--paper); }
    .review.keyed kbd { display: inline; }
    .review fieldset { border: 0; padding: 0; margin: 0; display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; }
    .review fieldset label { color: var(--ink); font-size: 1rem; }
    .review form p { margin: .5rem 0; }
    .review ol.found { list-style: none; margin: 0 0 .75rem; padding: 0; }
    .review ol.found li { padding: .2rem 0; overflow-wrap: anywhere; }
    .review .primary { font-size: .875rem; border: 1px solid var(--quiet); border-radius: .3rem; padding: 0 .3rem; }
    .review .below { min-width: 0; } .review h2 { margin-top: 1rem; }
    @media (min-width: 60rem) {
      .review { grid-template: auto auto 1fr / minmax(0, 3fr) minmax(20rem, 2fr); }
      .review .viewer { grid-row: 1 / 4; }
    }
    """
}
