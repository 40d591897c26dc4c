import Support

/// What `/style.css` is: the one sheet of all pages.
enum Stylesheet {
  /// The rules of every page, in the colours of `Palette`.
  static let css = """
    \(Palette.css)
    :root { --orange: #a34100; --yellow: #6f5b00; }
    @media screen and (prefers-color-scheme: dark) { :root { --orange: #ffa657; --yellow: #e6d95a; } }
    * { box-sizing: border-box; }
    body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
    a { color: var(--link); }
    a:focus-visible, button:focus-visible, input:focus-within, select:focus-visible, textarea:focus-visible,
    summary:focus-visible,
    [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
    .skip { position: absolute; left: -100vw; }
    .skip:focus { left: 1rem; top: 1rem; padding: .5rem; background: var(--paper); z-index: 1; }
    header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: baseline; padding: .75rem 1rem;
      background: var(--soft); border-bottom: 1px solid var(--line); }
    header p { margin: 0; font-weight: 700; }
    header form { margin-left: auto; }
    nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0; padding: 0; list-style: none; }
    nav a { display: inline-block; padding: .25rem 0; min-height: 24px; }
    nav a[aria-current] { color: var(--ink); font-weight: 700; text-decoration: none; border-bottom: 3px solid var(--link); }
    main { max-width: 90rem; margin: 0 auto; padding: 1rem; }
    main:focus { outline: none; }
    h1 { font-size: 1.5rem; margin: .5rem 0 1rem; }
    h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
    dl.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 8rem), 1fr)); gap: .75rem; margin: 0; }
    dl.figures div { padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--soft); }
    dl.figures dt { color: var(--quiet); font-size: .875rem; }
    dl.figures dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
    dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; margin: 0; }
    dl.facts dt { color: var(--quiet); }
    dl.facts dd { margin: 0; overflow-wrap: break-word; min-width: 0; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
    caption { text-align: left; color: var(--quiet); padding: .25rem 0; }
    th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
      overflow-wrap: break-word; }
    .scroll:not(:has(thead th:nth-child(5))) table { max-width: 56rem; }
    tbody th { font-weight: 400; }
    time, .confidence { white-space: nowrap; }
    .number { text-align: right; }
    .number + th, .number + td { padding-left: .75rem; }
    dl.figures + .scroll, .scroll + dl.facts { margin-top: 1rem; }
    .good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); } .quiet { color: var(--quiet); }
    .notice { padding: .75rem 1rem; border-left: 4px solid var(--warn); background: var(--soft); }
    .notice.good, .notice.warn, .notice.bad { color: var(--ink); }
    .notice[role=alert].bad { color: var(--bad); font-weight: 700; } .notice[role=alert].bad p + p { font-weight: 400; }
    .notice { margin: 0 0 1rem; } .notice p { margin: .25rem 0; }
    .notice.good { border-color: var(--good); } .notice.bad { border-color: var(--bad); }
    figure { margin: 1rem 0; }
    figcaption, .axis, .legend { color: var(--quiet); font-size: .875rem; }
    .axis { display: flex; justify-content: space-between; margin: 0; }
    .legend { margin: 0; }
    svg { display: block; width: 100%; height: 10rem; background: var(--soft); border: 1px solid var(--line); }
    svg.person, img.person { display: inline-block; width: 1.5rem; height: 1.5rem; vertical-align: middle;
      border: 0; background: none; }
    img.person { border-radius: .3rem; object-fit: contain; background: #fff; }
    img.product { height: 2rem; max-width: 12rem; vertical-align: middle; object-fit: contain; background: #fff; }
    svg path { fill: none; stroke-width: 2; stroke-linecap: round; vector-effect: non-scaling-stroke; }
    figure.chart { min-width: 0; }
    .plot { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem .5rem; }
    .plot p { margin: 0; }
    .plot .scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; }
    .plot .axis { grid-column: 2; }
    .scale, .reading { color: var(--quiet); font-size: .875rem; font-variant-numeric: tabular-nums; }
    .reading { margin: 0; min-height: 1.5em; color: var(--ink); }
    svg .moments path { stroke: var(--ink); stroke-width: inherit; vector-effect: none; opacity: 0; pointer-events: stroke; }
    svg .moments path:hover { opacity: .2; }
    svg.bar { display: inline-block; width: 6rem; height: .6rem; vertical-align: baseline; background: none;
      border: 1px solid currentColor; }
    svg.bar rect { fill: currentColor; }
    .word { white-space: nowrap; } .word wbr { display: none; }
    p.state { font-size: 1.15rem; }
    svg .grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
    svg .first { stroke: var(--link); } svg .second { stroke: var(--bad); stroke-dasharray: 6 3; }
    .legend .first::before { content: "— "; color: var(--link); } .legend .second::before { content: "- - "; color: var(--bad); }
    \(Drawing.css)
    .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 2rem; }
    .paging a { margin-right: 1rem; }
    .buttons { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; }
    form:has(tbody input:checked) .marked { position: sticky; bottom: 0; padding: .5rem 0; background: var(--paper);
      border-top: 1px solid var(--line); }
    html { scroll-padding-bottom: 6rem; }
    form.confirm { max-width: 36rem; }
    form.confirm input:not([type=hidden]), form.confirm textarea { width: 100%; }
    main { overflow-wrap: break-word; }
    form.filters p { margin: 0; }
    form.filters { display: flex; flex-wrap: wrap; gap: .75rem; align-items: end; margin: 0 0 1rem; }
    label { display: block; font-size: .875rem; color: var(--quiet); }
    input, select, textarea, button { font: inherit; color: var(--ink); background: var(--paper); border: 1px solid var(--quiet);
      border-radius: .3rem; padding: .35rem .6rem; min-height: 2.25rem; max-width: 100%; }
    form.filters :is(input, select, button) { height: 2.5rem; }
    details { margin: .5rem 0; }
    button { cursor: pointer; background: var(--soft); }
    a.button { display: inline-block; border: 1px solid var(--quiet); border-radius: .3rem; padding: .35rem .6rem;
      background: var(--soft); color: var(--ink); text-decoration: none; }
    a.button:hover { border-color: var(--link); }
    ol.timeline { list-style: none; margin: 0; padding: 0 0 0 1rem; border-left: 3px solid var(--line); }
    ol.timeline li { padding: .25rem 0 .75rem; overflow-wrap: break-word; }
    ul.pauses { padding-left: 1rem; }
    progress { width: 6rem; height: .8rem; vertical-align: middle; accent-color: var(--link); }
    .band { font-weight: 700; }
    .band.red { color: var(--bad); } .band.orange { color: var(--orange); } .band.yellow { color: var(--yellow); }
    .band.green, .band.normal { color: var(--good); }
    \(ReviewScript.css)
    button.danger { border-color: var(--bad); color: var(--bad); }
    footer { padding: 1rem; color: var(--quiet); font-size: .875rem; border-top: 1px solid var(--line); }
    nav.tabs ul { gap: .25rem; margin: 0 0 1rem; border-bottom: 1px solid var(--line); }
    nav.tabs a { padding: .25rem .75rem; text-decoration: none; }
    nav.tabs a[aria-current] { background: var(--soft); }
    .count { color: var(--quiet); font-variant-numeric: tabular-nums; }
    td input[type=checkbox], th input[type=checkbox] { min-height: 0; width: 1.25rem; height: 1.25rem; vertical-align: middle; }
    img.photo { display: block; max-width: 100%; max-height: 70vh; margin: .5rem 0; background: var(--soft); }
    @media (max-width: 72rem) { .scroll:has(thead th:nth-child(8)) { \(cards) } }
    @media (max-width: 40rem) { dl.facts { display: block; } dl.facts dd { margin-bottom: .5rem; } .scroll { \(cards) } }
    @media (prefers-reduced-motion: no-preference) { .scroll { scroll-behavior: smooth; } }
    """

  /// A table as cards: each row is one, and every cell names its column.
  private static let cards = """
    thead { display: block; position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      td:empty { display: none; }
      table, tbody { display: block; }
      caption { display: block; }
      tr { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; padding: .4rem 0; border-bottom: 2px solid var(--line);
        font-size: .875rem; }
      tbody th, tbody td, tbody .number { display: block; border: 0; padding: 0; text-align: left; min-width: 0; }
      td::before, tbody th::before { content: attr(data-column) " "; color: var(--quiet); font-weight: 400; }
      tbody th { font-weight: 700; }
    """

  /// What `/icon.svg` is: a queue of three.
  static let icon = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0b57a4"/>\
    <path d="M3 5h10M3 8h7M3 11h4" stroke="#fff" stroke-width="2"/></svg>
    """
}
