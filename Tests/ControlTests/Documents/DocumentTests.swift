import CommandLineTool
import Endpoint
import Foundation
import Gateway
import TestSupport
import Testing

@testable import Control

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

  @Test("every suite that SECURITY.md names is there, and every threat names one")
  func suites() throws {
    let page = try #require(MarkdownFile.named("SECURITY.md"))
    let named = page.codeSpans.compactMap { $0.wholeMatch(of: /([A-Za-z]+Tests): (.+)/)?.output }
    for (_, folder, suite) in named {
      #expect(try Self.suites(of: String(folder)).contains(String(suite)), "\(folder): \(suite)")
    }
    let sections = page.prose.joined(separator: "\n").components(separatedBy: "\n## ")
    let threats = try #require(sections.first { $0.hasPrefix("Threats and controls\n") })
      .components(separatedBy: "\n### ").dropFirst()
    #expect(threats.count > 20)
    for threat in threats {
      #expect(threat.contains(#/`[A-Za-z]+Tests: /#), "\(threat.prefix(60))")
    }
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
    let entries = page.prose.prefix { $0 != "## Say this, not that" }.joined(separator: "\n")
    let names = Set(
      entries.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map {
        $0.element.prefix { $0 != "(" }.description
      })
    #expect(names.count > 80)
    var code = ""
    for folder in ["Sources", "sql"] {
      let root = packagePath(folder)
      for path in try FileManager.default.subpathsOfDirectory(atPath: root)
      where path.hasSuffix(".swift") || path.hasSuffix(".sql") {
        code += try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
      }
    }
    for name in names { #expect(code.contains(name), "\(name)") }
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

  @Test("operations.md has every exit code", arguments: ExitCode.all)
  func exitCodes(code: ExitCode) throws {
    #expect(try Self.text("docs/operations.md").contains("\n| \(code.code) | "))
  }
}
