import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Endpoint
@testable import Gateway
@testable import Images
@testable import analysis_gateway

@Suite("The documents agree with the tree")
struct DocumentTests {
  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: packagePath(path), encoding: .utf8)
  }

  @Test("every link leads to a file or a heading that is there", arguments: MarkdownFile.all)
  func links(file: MarkdownFile) throws {
    for link in file.links {
      let target = file.target(of: link)
      #expect(
        FileManager.default.fileExists(atPath: packagePath(target)),
        "\(file.path): [\(link.text)] to \(target)")
      guard let anchor = link.anchor else { continue }
      let page = try #require(MarkdownFile.named(target), "\(file.path): an anchor of \(target)")
      #expect(page.anchors.contains(anchor), "\(file.path): \(target)#\(anchor)")
    }
  }

  @Test("every file of docs is linked from the README, which has at most 130 lines")
  func readme() throws {
    let readme = try #require(MarkdownFile.named("README.md"))
    #expect(readme.lineCount <= 130)
    let linked = Set(readme.links.map(readme.target(of:)))
    for file in MarkdownFile.all where file.path.hasPrefix("docs/") {
      #expect(linked.contains(file.path), "\(file.path)")
    }
  }

  @Test("every suite that a document names is there", arguments: ["SECURITY.md", "docs/architecture.md"])
  func suites(path: String) throws {
    let page = try #require(MarkdownFile.named(path))
    let named = page.codeSpans.compactMap { $0.wholeMatch(of: /([A-Za-z]+Tests): (.+)/)?.output }
    #expect(named.count > 15)
    for (_, folder, suite) in named {
      #expect(try Self.suites(of: String(folder)).contains(String(suite)), "\(folder): \(suite)")
    }
  }

  @Test("every threat of SECURITY.md names a suite")
  func threats() throws {
    let threats = try Self.section("Threats and controls", of: "SECURITY.md")
      .components(separatedBy: "\n### ").dropFirst()
    #expect(threats.count > 20)
    for threat in threats { #expect(threat.contains(Self.suiteName), "\(threat.prefix(60))") }
  }

  @Test("every step of a job's journey in architecture.md names the suite that proves it")
  func steps() throws {
    let steps = try Self.section("One job's journey", of: "docs/architecture.md")
      .components(separatedBy: "\n**").dropFirst()
    #expect(steps.count == 8)
    for step in steps { #expect(step.contains(Self.suiteName), "\(step.prefix(60))") }
  }

  private static var suiteName: Regex<Substring> { #/`[A-Za-z]+Tests: /# }

  /// The text below a heading of the second level, up to the next one.
  private static func section(_ title: String, of path: String) throws -> String {
    let page = try #require(MarkdownFile.named(path))
    let sections = page.prose.joined(separator: "\n").components(separatedBy: "\n## ")
    return try #require(sections.first { $0.hasPrefix("\(title)\n") })
  }

  /// The names of the suites in a folder below `Tests`.
  private static func suites(of folder: String) throws -> Set<String> {
    let root = packagePath("Tests/\(folder)")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".swift") }
    return try paths.reduce(into: []) { found, path in
      let source = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
      found.formUnion(source.matches(of: #/@Suite\([ \n]*"([^"]+)"/#).map { String($0.output.1) })
    }
  }

  @Test("the glossary names nothing that is not in the code")
  func glossary() throws {
    let page = try #require(MarkdownFile.named("docs/glossary.md"))
    let names = Set(page.codeSpans.map { $0.prefix { $0 != "(" }.description })
    #expect(names.count > 80)
    let code = try Self.code()
    for name in names { #expect(code.contains(name), "\(name)") }
  }

  /// All files of `Sources` and `sql` whose names end so, one after the other.
  private static func code(of endings: [String] = [".swift", ".sql"]) throws -> String {
    var code = ""
    for folder in ["Sources", "sql"] {
      let root = packagePath(folder)
      for path in try FileManager.default.subpathsOfDirectory(atPath: root)
      where endings.contains(where: path.hasSuffix) {
        code += try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
      }
    }
    return code
  }

  @Test("architecture.md sends its readers to types and functions that are there")
  func architecture() throws {
    let names = try Self.section("One job's journey", of: "docs/architecture.md")
      .components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    let code = try Self.code()
    let declared = Set(
      code.split(separator: "\n").compactMap { line -> Substring? in
        let words = line.split(separator: " ")
        let kind = words.firstIndex { ["struct", "class", "actor", "enum"].contains($0) }
        return kind.flatMap { words.dropFirst($0 + 1).first?.prefix(while: \.isLetter) }
      })
    let types = names.filter { $0.wholeMatch(of: /[A-Z][A-Za-z]+/) != nil }
    #expect(types.count > 15)
    for type in types { #expect(declared.contains(type[...]), "\(type)") }
    let functions = names.filter { $0.wholeMatch(of: /analysis\.[a-z_]+/) != nil }
    for name in functions { #expect(code.contains(name), "\(name)") }
  }

  @Test("images.md has every reason for which a picture is refused")
  func refusals() throws {
    let page = try Self.text("docs/images.md")
    #expect(ImageRefusal.Code.allCases.count > 10)
    for reason in ImageRefusal.Code.allCases {
      #expect(page.contains("\n| `\(reason.rawValue)` | "), "\(reason)")
    }
  }

  @Test("architecture.md has every folder of Sources")
  func modules() throws {
    let page = try Self.text("docs/architecture.md")
    for module in try FileManager.default.contentsOfDirectory(atPath: packagePath("Sources")) {
      #expect(page.contains("`\(module)`"), "\(module)")
    }
  }

  @Test(
    "configuration.md has every option of the worker and the gateway, every common option and every setting")
  func options() throws {
    let page = try Self.text("docs/configuration.md")
    let worker = Tool(WorkerOptions.command { _ in .done }, version: "1")
    let gateway = Tool(GatewayOptions.command { _ in .done }, version: "1")
    let help =
      gateway.text(of: .help(["analysis-gateway"])) + worker.text(of: .help(["analysis-worker"]))
      + ControlProgram.tool().text(of: .help(["analysisctl"]))
    let options = Set(
      help.matches(of: /\n +(?:-., )?--(\[no-\])?([a-z-]+)/).map {
        "--" + ($0.output.1 == nil ? "" : "no-") + $0.output.2
      }
    )
    .subtracting(["--help", "--version"])
    #expect(options.count > 25)
    for option in options { #expect(page.contains("`\(option)"), "\(option)") }
    // Each with its default and the meaning of an empty value.
    let settings = try Self.text("sql/functions/20_values/settings.sql").matches(
      of: /\n +\('([a-z_]+)', '[^']*', (?:NULL|'[a-z ]+'),/
    ).map(\.output.1)
    #expect(settings.count > 10)
    for name in settings { #expect(page.contains("| `\(name)` |"), "\(name)") }
  }

  @Test("the manual page of analysisctl has every exit code, and when it comes", arguments: ExitCode.allCases)
  func exitCodes(code: ExitCode) throws {
    let page = ControlProgram.tool().text(of: .manual(["analysisctl"])).replacing("\\-", with: "-")
    #expect(page.contains("\n\\fB\(code.code)\\fR\n\(code.sentence)\n\(code.cases)"))
  }
}
