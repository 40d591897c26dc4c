/// The documents that are made of a month's statement.
public enum StatementFormat: String, Sendable, CaseIterable {
  /// The data: comma-separated values.
  case csv
  /// One page for a browser, with charts, that loads nothing from elsewhere.
  case html
  /// A4 pages.
  case pdf
  /// A workbook of a spreadsheet.
  case xlsx

  /// The format that a file's name ends with, in small letters or capitals; nil for any other ending.
  public init?(path: String) {
    let name = path.split(separator: "/").last ?? ""
    guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
    self.init(rawValue: name[name.index(after: point)...].lowercased())
  }
}
