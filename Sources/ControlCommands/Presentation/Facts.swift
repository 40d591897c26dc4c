import CommandLineTool

/// Names and values below each other: `user   u1`. Empty values are left out.
struct Facts {
  private var lines: [(name: String, value: String)] = []

  init(_ facts: [(String, String?)] = []) {
    for (name, value) in facts { add(name, value) }
  }

  /// Adds a line, unless there is nothing to say. Colours in the value stay; nothing else unprintable does.
  mutating func add(_ name: String, _ value: String?) {
    guard let value, !value.isEmpty else { return }
    let isPainted = value.hasPrefix("\u{1B}[") && value.hasSuffix("\u{1B}[0m")
    lines.append((name, isPainted ? value : printable(value)))
  }

  /// The lines, the values in one column.
  var text: String {
    let width = lines.map(\.name.count).max() ?? 0
    return lines.map { line in
      line.name + String(repeating: " ", count: width - line.name.count + 2) + line.value + "\n"
    }.joined()
  }
}
