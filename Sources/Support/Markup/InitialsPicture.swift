extension HTML {
  /// Colours of the discs of initials: white letters have a contrast of at least 4.5 to 1 with each.
  static let discColours = ["#0b57a4", "#176b33", "#7a4f00", "#6b3fa0", "#a8201a", "#525b66"]

  /// A disc with a person's initials, the same one for the same initials. The person's name stands beside it.
  public static func disc(of initials: String) -> HTML {
    let number = initials.unicodeScalars.reduce(0) { ($0 + Int($1.value)) % discColours.count }
    return """
      <svg class="person" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true">\
      <circle cx="16" cy="16" r="16" fill="\(discColours[number])"/>\
      <text x="16" y="21" text-anchor="middle" font-family="system-ui, sans-serif" font-size="14" fill="#ffffff">\
      \(initials)</text></svg>
      """
  }
}
