/// A function of the schema `analysis`, as a program of ours calls it: the one place where the text of a call is made.
///
/// A test finds every one of these in the sources, and compares it with what the server has of the function.
public struct SQLFunction: Sendable {
  /// How the names of the columns begin that a function answers, where they are not those of a table.
  static let prefix = "o_"

  /// `SELECT column, … FROM analysis.name($1, …)`.
  public let text: String
  /// The columns that are read, in the order of the answer; none where the type into which it is decoded names them.
  public let columns: [String]
  private let name: String
  private let arguments: [String]

  /// A call.
  ///
  /// - Parameters:
  ///   - name: the function's name, without the schema's.
  ///   - arguments: how many arguments it is given.
  ///   - columns: those that are read one by one; none where a type names them.
  public init(_ name: String, _ arguments: Int, _ columns: String...) {
    self.init(name, (0..<arguments).map { "$\($0 + 1)" }, columns: columns)
  }

  private init(_ name: String, _ arguments: [String], columns: [String]) {
    self.name = name
    self.arguments = arguments
    self.columns = columns
    text = Self.text(name, arguments, columns)
  }

  /// The call of which one argument is a row: the parameters of its columns stand in that argument's place.
  func withRow(at place: Int, columns count: Int) -> SQLFunction {
    let numbers = (place..<place + count).map { "$\($0 + 1)" }
    let behind = (place + 1..<arguments.count).map { "$\($0 + count)" }
    return SQLFunction(
      name, arguments[..<place] + ["(\(numbers.joined(separator: ", ")))"] + behind, columns: columns)
  }

  /// The call with its arguments in the text, for what takes no parameters. Each has to be quoted already.
  public func text(with arguments: [String]) -> String { Self.text(name, arguments, columns) }

  private static func text(_ name: String, _ arguments: [String], _ columns: [String]) -> String {
    let selected = columns.isEmpty ? "*" : columns.joined(separator: ", ")
    return "SELECT \(selected) FROM analysis.\(name)(\(arguments.joined(separator: ", ")))"
  }
}
