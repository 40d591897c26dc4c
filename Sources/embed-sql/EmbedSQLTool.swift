import Foundation

/// Writes every `.sql` file below a folder as one Swift dictionary from its path there to its text.
///
/// Usage: `embed-sql FOLDER OUTPUT`. Raw string literals with four number signs are used, so that no
/// text of SQL can end one or be read as an interpolation.
@main
struct EmbedSQLTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else {
      FileHandle.standardError.write(Data("usage: embed-sql FOLDER OUTPUT\n".utf8))
      exit(64)
    }
    let root = URL(fileURLWithPath: arguments[1]).standardizedFileURL
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".sql") }.sorted()
    var text = "/// The files of `sql/`, by their path below it.\nlet embeddedSQL: [String: String] = [\n"
    for path in paths {
      let content = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      text += "  \"\(path)\": ####\"\"\"\n\(content)\n\"\"\"####,\n"
    }
    if paths.isEmpty { text += "  :\n" }
    text += "]\n"
    try text.write(toFile: arguments[2], atomically: true, encoding: .utf8)
  }
}
