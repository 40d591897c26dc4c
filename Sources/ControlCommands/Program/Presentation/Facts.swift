import CommandLineTool
import Formatting

/// Names and values below each other: `user   u1`. Empty values are left out.
struct Facts {
  private var lines: [(name: String, value: String)] = []

  init(_ facts: [(String, String?)] = []) {
    for (name, value) in facts { add(name, value) }
  }

  /// Adds a line, unless there is nothing to say.
  mutating func add(_ name: String, _ value: String?) {
    guard let value, !value.isEmpty else { return }
    lines.append((name, printable(value)))
  }

  /// Has a line's value in a colour.
  mutating func colour(_ name: String, _ colour: Paint.Colour, _ paint: Paint) {
    for index in lines.indices where lines[index].name == name {
      lines[index].value = paint(lines[index].value, colour)
    }
  }

  /// The lines, the values in one column.
  var text: String {
    let width = lines.map(\.name.count).max() ?? 0
    return lines.map { line in
      line.name + String(repeating: " ", count: width - line.name.count + 2) + line.value + "\n"
    }.joined()
  }
}
