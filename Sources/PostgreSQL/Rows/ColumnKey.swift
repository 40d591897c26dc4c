/// What names a column: its position, from 0, or its name as the server spells it.
public protocol ColumnKey: Sendable {
  /// The column's position among the names given; nil when there is none such.
  func position(among count: Int, named: (String) -> Int?) -> Int?
  /// How it is written in an error.
  var columnDescription: String { get }
}

extension Int: ColumnKey {
  /// The number itself, if there are so many columns.
  public func position(among count: Int, named: (String) -> Int?) -> Int? {
    (0..<count).contains(self) ? self : nil
  }

  /// The number, for instance "column 0".
  public var columnDescription: String { "column \(self)" }
}

extension String: ColumnKey {
  /// The first column of that name.
  public func position(among count: Int, named: (String) -> Int?) -> Int? {
    named(self)
  }

  /// The name, for instance "column id".
  public var columnDescription: String { "column \(self)" }
}
