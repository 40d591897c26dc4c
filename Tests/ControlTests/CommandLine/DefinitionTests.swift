import Testing

@testable import CommandLineTool
@testable import Control

@Suite("The commands are defined well")
struct DefinitionTests {
  private static let root = ControlProgram.root()

  private static func all(_ command: Command, above: [String] = []) -> [(path: [String], command: Command)] {
    let path = above + [command.name]
    return [(path, command)] + command.subcommands.flatMap { all($0, above: path) }
  }

  @Test("nothing in them is contradictory")
  func faults() {
    #expect(Self.root.definitionFaults == [])
  }

  @Test("every command has examples that begin with its name, and can be understood")
  func examples() throws {
    for (path, command) in Self.all(Self.root) {
      #expect(!command.examples.isEmpty, "\(path)")
      for example in command.examples {
        let words = example.command.split(separator: " ").map(String.init)
        guard let start = words.firstIndex(of: "analysisctl") else {
          Issue.record("\(example.command)")
          continue
        }
        let arguments = words[(start + 1)...].prefix { $0 != "<" }
        let request = try ControlProgram.tool().parse(Array(arguments))
        guard case .run(let values) = request else {
          Issue.record("\(example.command) shows a page")
          continue
        }
        let console = Console(output: MemoryWriter(), messages: MemoryWriter())
        let reached = Context(values: values, console: console).path
        #expect(reached.starts(with: path), "\(example.command)")
      }
    }
  }

  /// What asks no database and no endpoint.
  private static let local = [
    ["analysisctl", "keys", "new"], ["analysisctl", "products", "check"],
    ["analysisctl", "products", "list"],
  ]

  @Test("every command that runs names its exit codes, 64 and, unless it asks nobody, 69 among them")
  func exitCodes() {
    for (path, command) in Self.all(Self.root) where command.subcommands.isEmpty {
      #expect(command.exitCodes.contains(.usage), "\(path)")
      #expect(command.exitCodes.contains(.unreachable) == !Self.local.contains(path), "\(path)")
      #expect(command.exitCodes.map(\.code) == command.exitCodes.map(\.code).sorted(), "\(path)")
    }
  }

  @Test("no line of help is wider than the terminal", arguments: [80, 120])
  func width(width: Int) {
    for (path, _) in Self.all(Self.root) {
      for line in ControlProgram.tool().text(of: .help(path), width: width).split(separator: "\n") {
        #expect(line.count <= width, "\(path): \(line)")
      }
    }
  }

  @Test("the version is one line on standard output")
  func version() async {
    let ran = await Control()("--version")
    #expect(ran.code == .done)
    #expect(ran.output == "analysisctl \(ControlProgram.version)\n")
    #expect(ran.messages == "")
  }
}
