/// The text of the package's `sql/` folder, compiled in, so that a binary needs no file beside it.
public enum SQLFiles {
  /// A file's text by its path below `sql/`, for instance `"server/clock.sql"`; nil if there is none.
  public static func text(_ path: String) -> String? {
    embeddedSQL[path]
  }

  /// The same of a file that is known to be there.
  ///
  /// A file that is missing from the build gives a text that the server refuses by name, so that the fault shows where
  /// it is used.
  public static func required(_ path: String) -> String {
    text(path) ?? "missing from this program: \(path)"
  }

  /// The files of a folder below `sql/` and of its folders, in name order: each file's path below that folder without its
  /// ending, and its text.
  public static func files(in folder: String) -> [(name: String, text: String)] {
    embeddedSQL
      .compactMap { path, text -> (name: String, text: String)? in
        guard path.hasPrefix(folder + "/"), path.hasSuffix(".sql") else { return nil }
        return (name: String(path.dropFirst(folder.count + 1).dropLast(".sql".count)), text: text)
      }
      .sorted { $0.name < $1.name }
  }

  /// The numbered migrations in the order in which they are applied: the number before the first
  /// underscore, the file's name without its ending, and its text.
  static var migrations: [(number: Int, name: String, text: String)] {
    embeddedSQL
      .compactMap { path, text -> (Int, String, String)? in
        guard path.hasPrefix("migrations/"), path.hasSuffix(".sql") else { return nil }
        let name = String(path.dropFirst("migrations/".count).dropLast(".sql".count))
        guard let number = Int(name.prefix { $0 != "_" }) else { return nil }
        return (number, name, text)
      }
      .sorted { $0.0 < $1.0 }
      .map { (number: $0.0, name: $0.1, text: $0.2) }
  }
}
