/// A statement's text and parameters (`$1`, `$2`, …).
public struct SQLStatement: Sendable {
  /// The text.
  public let sql: String
  /// The parameters, in order.
  public let parameters: [Parameter]
  /// What errors call it; nil for the text's first words.
  public let label: String?

  /// A statement.
  public init(_ sql: String, _ parameters: [Parameter] = [], label: String? = nil) {
    self.sql = sql
    self.parameters = parameters
    self.label = label
  }

  /// What errors call it.
  var name: String { label ?? Redaction.label(sql) }
}
