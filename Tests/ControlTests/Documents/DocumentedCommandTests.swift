import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Endpoint
@testable import Gateway
@testable import analysis_gateway

/// A command line of ours that a document, a unit or a cron file shows.
private struct ShownCommand {
  let program: String
  let arguments: [String]

  static let programs = ["analysisctl", "analysis-worker", "analysis-gateway"]

  /// The commands of a script: continued lines are joined, each line ends where the shell would end the command.
  static func all(in lines: [String]) -> [ShownCommand] {
    let script = lines.joined(separator: "\n").replacing("\\\n", with: " ")
    return script.split(separator: "\n").flatMap { line in
      commands(of: words(String(line))).compactMap(ShownCommand.init)
    }
  }

  /// A command's words from the name of the program on; nil when it is another's.
  init?(_ line: [String]) {
    let words = Array(line.drop { $0.contains(#/^[A-Z]+=/#) })  // variables for the command alone
    guard let start = words.firstIndex(where: { Self.programs.contains(Self.name($0)) }),
      // Behind its name: after another program's only where that one runs it.
      start == 0 || ["runuser", "as", "exec"].contains(words[0]) || words[0].hasPrefix("ExecStart=")
        || words[..<start].contains("analysis")
    else { return nil }
    program = Self.name(words[start])
    arguments = Array(words[(start + 1)...])
  }

  /// What comes behind a path's last slash.
  private static func name(_ word: String) -> String {
    word.split(separator: "/").last.map(String.init) ?? ""
  }

  /// The commands of a line: what pipes, lists and redirections put apart.
  private static func commands(of words: [String]) -> [[String]] {
    words.split(whereSeparator: { ["|", "||", "&&", ";", "&", ">", "<", "(", ")"].contains($0) }).map(
      Array.init)
  }

  /// Splits a line as a shell does: quotes hold words together, a # begins a comment.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line.replacing("ExecStart=", with: "ExecStart= ") {
      switch character {
      case _ where quote != nil:
        if character == quote { quote = nil } else { word?.append(character) }
      case "\"", "'":
        quote = character
        word = word ?? ""
      case "#" where word == nil: return words
      case "|", ";", "&", ">", "<", "(", ")":
        // A number at a redirection is a descriptor's.
        if let word, !"<>".contains(character) || Int(word) == nil { words.append(word) }
        word = nil
        words.append(String(character))
      case " ", "\t":
        if let word { words.append(word) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    return word.map { words + [$0] } ?? words
  }

  /// Understands it as the program does.
  func parse() throws {
    switch program {
    case "analysisctl": _ = try ControlProgram.tool().parse(arguments)
    case "analysis-gateway":
      let gateway = GatewayOptions.command { _ in .done }
      _ = try Tool(gateway, version: "1", configuration: ServiceOptions.configuration).parse(arguments)
    default:
      let worker = WorkerOptions.command { _ in .done }
      _ = try Tool(worker, version: "1", configuration: ServiceOptions.configuration).parse(arguments)
    }
  }
}

@Suite("Commands that the documents show")
struct DocumentedCommandTests {
  @Test("can be understood, in code blocks and between the lines", arguments: MarkdownFile.all)
  func documents(file: MarkdownFile) throws {
    let spans = file.codeSpans.filter { $0.contains(" ") }
    let commands = ShownCommand.all(in: file.commandLines + spans)
    for command in commands {
      #expect(throws: Never.self, "\(file.path): \(command.program) \(command.arguments)") {
        try command.parse()
      }
    }
  }

  @Test("are found where they are")
  func found() throws {
    let readme = try #require(MarkdownFile.named("README.md"))
    let commands = ShownCommand.all(in: readme.commandLines)
    #expect(commands.count == 9)
    #expect(commands.first?.arguments == ["migrate"])
    #expect(
      ShownCommand.all(in: [
        "PGUSER=x runuser -u postgres -- analysisctl jobs show 1 --reason \"first test\" | cat # why"
      ])
      .map(\.arguments) == [["jobs", "show", "1", "--reason", "first test"]])
    #expect(throws: UsageError.self) { try ShownCommand.all(in: ["analysisctl jobs shwo 1"]).first?.parse() }
    #expect(throws: UsageError.self) { try ShownCommand.all(in: ["analysisctl purge --dry"]).first?.parse() }
    #expect(throws: UsageError.self) {
      try ShownCommand.all(in: ["analysis-worker --drain 1"]).first?.parse()
    }
  }

  @Test("are the steps of an operator's 25 tasks, beside pages that the dashboard has")
  func tasks() throws {
    let page = try #require(MarkdownFile.named("docs/operations.md"))
    let section = page.prose.joined(separator: "\n").components(separatedBy: "\n## ").first {
      $0.hasPrefix("Tasks\n")
    }
    let rows = try #require(section).split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
    #expect(rows.count == 25)
    for row in rows {
      let commands = row.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(
        \.element)
      #expect(ShownCommand.all(in: commands).count == 1, "\(row)")
      for page in row.matches(of: #/\*(\w+)\*/#).map({ String($0.output.1) }) {
        #expect(Section.allCases.contains { $0.title == page }, "\(row)")
      }
    }
  }

  @Test("can be understood in units and cron files")
  func jobs() throws {
    let folder = packagePath("jobs")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0.hasSuffix(".service") || $0.hasSuffix(".cron")
    }
    #expect(files.count == 9)
    for file in files {
      let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
      let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
      let commands = ShownCommand.all(in: lines)
      // Months are closed before the closed ones are written.
      let names = commands.map { $0.arguments.prefix(2).joined(separator: " ") }
      if file.hasPrefix("analysis-report") {
        #expect(names == ["month close", "report usage"], "\(file)")
      } else {
        #expect(names.count == 1, "\(file)")
      }
      for command in commands { #expect(throws: Never.self, "\(file)") { try command.parse() } }
    }
  }

  @Test("of the installation are sound bash, and take examples that are installed")
  func installation() async throws {
    let page = try #require(MarkdownFile.named("docs/install.md"))
    let script = page.codeBlocks.filter { $0.language == "sh" }.flatMap(\.lines).joined(separator: "\n")
    let ended = await (try RunningProgram("/bin/bash", ["-n", "-c", script])).ended()
    #expect(ended.status == 0, "\(ended.errors)")
    let files = try FileManager.default.subpathsOfDirectory(atPath: packagePath("jobs")).map {
      ($0 as NSString).lastPathComponent
    }
    let taken = page.commandLines.joined(separator: "\n").matches(of: #/([a-z-]+\.cron|examples\/[a-z.-]+)/#)
      .map { String($0.output.1).replacing("examples/", with: "") }
    #expect(taken.count == 4)
    for file in taken { #expect(files.contains(file), "\(file)") }
  }
}
