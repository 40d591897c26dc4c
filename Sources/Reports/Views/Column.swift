/// One column of a report.
struct Column: Equatable, Sendable {
  /// Where a table puts its cells.
  enum Alignment: Sendable {
    /// For words.
    case left
    /// For numbers.
    case right
  }

  /// Who sees the column.
  enum Audience: Sendable {
    /// Programs and people.
    case everyone
    /// CSV and JSON only: what would make a table too wide to read.
    case programs
    /// Tables only: what programs have in other columns.
    case people
  }

  /// The name in CSV's header and JSON's objects; it never changes, since programs read it.
  let name: String
  /// The heading for people.
  let heading: String
  /// Where a table puts its cells.
  let alignment: Alignment
  /// Who sees it.
  let audience: Audience
  /// Whether a table may cut its cells where there is no room: words can be cut, numbers would be others.
  let mayBeCut: Bool

  /// A column of words.
  static func words(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .left, audience: audience, mayBeCut: true)
  }

  /// A column of numbers that name something.
  static func identifier(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .left, audience: audience, mayBeCut: false)
  }

  /// A column of numbers.
  static func number(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .right, audience: audience, mayBeCut: false)
  }

  /// Whether a view for some audience shows the column.
  func isShown(to reader: Audience) -> Bool {
    audience == .everyone || audience == reader
  }
}
