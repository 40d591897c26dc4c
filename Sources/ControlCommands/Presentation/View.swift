import CommandLineTool
import Formatting

/// Turns a response into what is shown: dates, percentages and names are formatted here and nowhere else.
protocol Presenter {
  associatedtype Response: Sendable

  /// For programs; ids are texts, since they may be larger than a JSON number can hold exactly.
  static func json(_ response: Response) -> JSONValue
  /// For people; whole lines. `width` is nil where nobody watches.
  static func text(_ response: Response, width: Int?, paint: Paint) -> String
}

/// Standard output in the form that was asked for.
struct View: Sendable {
  let console: Console
  let isJSON: Bool

  init(console: Console, isJSON: Bool) {
    self.console = console
    self.isJSON = isJSON
  }

  /// A command's own, for one that needs no session.
  init(_ context: Context) throws(UsageError) {
    self.init(console: context.console, isJSON: try context.values[CommonOptions.json])
  }

  /// The width of the terminal; nil for a file or a pipe.
  var width: Int? { console.outputTerminal.isTerminal ? console.outputTerminal.width : nil }

  /// Shows a response: a line of JSON, or text.
  func show<P: Presenter>(_ response: P.Response, by presenter: P.Type) throws(WriteError) {
    if isJSON {
      try console.print(P.json(response).json)
    } else {
      try console.output.write(P.text(response, width: width, paint: Paint(console.outputTerminal)))
    }
  }
}
