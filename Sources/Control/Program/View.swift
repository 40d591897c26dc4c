import CommandLineTool
import Support

/// A response that knows how it is shown: its dates, percentages and names are formatted there and nowhere else.
protocol Presentable {
  /// For programs; ids are texts, since they may be larger than a JSON number can hold exactly.
  var json: JSONValue { get }
  /// For people; whole lines. `width` is nil where nobody watches.
  func text(width: Int?, paint: Paint) -> String
}

/// Standard output in the form that was asked for.
struct View: Sendable {
  let console: Console
  let isJSON: Bool

  /// The width of the terminal; nil for a file or a pipe.
  var width: Int? { console.outputTerminal.isTerminal ? console.outputTerminal.width : nil }

  /// Shows a response: a line of JSON, or text.
  func show(_ response: some Presentable) throws(WriteError) {
    if isJSON {
      try console.print(response.json.json)
    } else {
      try console.output.write(response.text(width: width, paint: Paint(console.outputTerminal)))
    }
  }

  /// Says on standard error what stands in the JSON already.
  func sayUnlessJSON(_ line: String) {
    if !isJSON { console.say(line) }
  }
}

/// A response without a table: both forms are made where it is known.
struct PlainResponse: Presentable {
  let json: JSONValue
  let text: String

  func text(width: Int?, paint: Paint) -> String { text }
}

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

extension JSONValue {
  /// A job's number as text, or null.
  static func id(_ job: JobID?) -> JSONValue { text(job?.description) }

  /// A month, or null.
  static func month(_ period: Period?) -> JSONValue { text(period?.description) }

  /// A moment in RFC 3339, or null.
  static func time(_ seconds: Double?) -> JSONValue { text(seconds.flatMap(Moment.exact)) }
}
