import Formatting

/// Breaks a text into lines of at most `width` columns, at spaces; a longer word gets a line of its own.
func wrapped(_ text: String, to width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
    if line.isEmpty {
      line = String(word)
    } else if displayWidth(line) + 1 + displayWidth(String(word)) <= width {
      line += " \(word)"
    } else {
      lines.append(line)
      line = String(word)
    }
  }
  return line.isEmpty ? lines : lines + [line]
}
