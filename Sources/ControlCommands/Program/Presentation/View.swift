import CommandLineTool
import Formatting

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
