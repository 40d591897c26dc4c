/// A statement's text and parameters (`$1`, `$2`, …).
public struct SQLStatement: Sendable {
  /// The text.
  public let sql: String
  /// The parameters, in order.
  public let parameters: [Parameter]
  /// What errors call it; nil for the text's first words.
  public let label: String?
  /// Whether it is made again and again: the server then parses it once for a connection that has a session of its
  /// own, and remembers how to run it.
  public let isRepeated: Bool

  /// A statement.
  public init(_ sql: String, _ parameters: [Parameter] = [], label: String? = nil, isRepeated: Bool = false) {
    self.sql = sql
    self.parameters = parameters
    self.label = label
    self.isRepeated = isRepeated
  }

  /// What errors call it.
  var name: String { label ?? ServerText.label(sql) }
}
