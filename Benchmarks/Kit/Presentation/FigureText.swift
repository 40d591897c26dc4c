/// Figures in words for a table.
public enum FigureText {
  /// A number with as many digits as tell something: three significant ones below a thousand, whole above.
  public static func number(_ value: Double) -> String {
    guard value.isFinite else { return "-" }
    let size = abs(value)
    let places = size == 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
    return fixed(value, places: places)
  }

  /// A number with so many places behind the point, thousands apart by spaces.
  public static func fixed(_ value: Double, places: Int) -> String {
    var scale = 1.0
    for _ in 0..<places { scale *= 10 }
    let scaled = (abs(value) * scale).rounded()
    guard scaled < 1e15 else { return "\(value)" }
    let digits = Int(scaled)
    let factor = Int(scale)
    var text = grouped(digits / factor)
    if places > 0 { text += "." + String(factor + digits % factor).dropFirst() }
    return value < 0 && digits > 0 ? "-" + text : text
  }

  /// Bytes as megabytes of a million.
  public static func megabytes(_ bytes: Double) -> String { fixed(bytes / 1_000_000, places: 1) }

  private static func grouped(_ value: Int) -> String {
    let digits = String(value)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += " " }
      text.append(digit)
    }
    return text
  }
}
