/// The rules of drawn charts, for the stylesheet of whatever page has one.
public enum Drawing {
  /// The rules, in the colours of `Palette`.
  public static let css = """
    svg.drawn { display: block; width: 100%; min-width: 34rem; height: auto; background: var(--paper);
      border: 1px solid var(--line); }
    svg.drawn text { font-size: 10px; fill: var(--ink); text-anchor: middle; }
    svg.drawn .name, svg.drawn .scale { text-anchor: end; }
    svg.drawn .note { text-anchor: start; }
    svg.drawn .count { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
    svg.drawn .grid { stroke: var(--line); }
    svg.drawn .axis { stroke: var(--quiet); }
    svg.drawn .ideal { stroke: var(--quiet); stroke-dasharray: 6 4; }
    svg.drawn .bar { fill: var(--link); }
    svg.drawn .interval { stroke: var(--link); stroke-width: 2; }
    svg.drawn .point { fill: var(--link); stroke: var(--paper); }
    svg .part { stroke: currentColor; }
    """
}
