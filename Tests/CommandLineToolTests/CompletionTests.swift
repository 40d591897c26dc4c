import TestSupport
import Testing

@testable import CommandLineTool

@Suite("Completion scripts and the manual page come from the definition")
struct CompletionTests {
  /// What bash offers after a line whose last word is being typed.
  func offered(_ words: [String]) async throws -> Set<String> {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let script = """
      \(Sample.tool.text(of: .completions(.bash)))
      COMP_WORDS=(\(list)); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
      _shop; printf '%s\\n' "${COMPREPLY[@]}"
      """
    let output = String(
      decoding: try await HelperProgram.output("/bin/bash", ["-c", script]), as: UTF8.self)
    return Set(output.split(separator: "\n").map(String.init))
  }

  @Test(
    "bash itself offers what may stand there",
    arguments: [
      (["shop", ""], ["submit", "jobs", "report", "completions", "help"]),
      (["shop", "jo"], ["jobs"]),
      (["shop", "jobs", ""], ["list", "show", "help"]),
      (["shop", "-v", "jobs", "l"], ["list"]),
      (["shop", "--config", "jobs", ""], ["submit", "jobs", "report", "completions", "help"]),
      (["shop", "jobs", "list", "--plan", ""], ["free", "premium"]),
      (["shop", "jobs", "list", "--plan", "=", "pr"], ["premium"]),
      (["shop", "jobs", "list", "--plan", "="], ["free", "premium"]),
      (
        ["shop", "submit", "--"],
        ["--window", "--verbose", "--progress", "--no-progress", "--config", "--help"]
      ),
      (["shop", "completions", ""], ["bash", "zsh", "fish"]),
      (["shop", "jobs", "show", ""], []),
    ])
  func bash(words: [String], expected: [String]) async throws {
    #expect(try await offered(words) == Set(expected))
  }

  @Test(
    "every script names every visible option and subcommand, and no hidden one", arguments: Shell.allCases)
  func complete(shell: Shell) {
    let script = Sample.tool.text(of: .completions(shell))
    let dashes = shell == .fish ? "-l " : "--"
    for name in ["window", "verbose", "no-progress", "config", "user", "plan", "offset", "help", "version"] {
      #expect(script.contains("\(dashes)\(name)"), "\(name)")
    }
    for name in ["submit", "jobs", "list", "show", "report"] { #expect(script.contains(name), "\(name)") }
    for hidden in ["rehearse", "trace"] { #expect(!script.contains(hidden), "\(hidden)") }
  }

  @Test("the command line asks for a script by the shell's name", arguments: Shell.allCases)
  func request(shell: Shell) throws {
    guard case .show(let page) = try Sample.tool.parse(["completions", shell.rawValue]) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(page == .completions(shell))
  }

  @Test("the manual page holds every section, each command, and no hidden one")
  func manual() throws {
    guard case .show(.manual(["shop"])) = try Sample.tool.parse(["help", "--man"]) else {
      Issue.record("nothing is shown")
      return
    }
    let page = Sample.tool.text(of: .manual(["shop"]))
    for part in [
      ".TH \"SHOP\" 1", ".SH NAME\nshop \\- Submit images", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH DESCRIPTION",
      ".SH OPTIONS", ".SH COMMANDS", ".SS \"shop jobs list\"", ".SH ENVIRONMENT", "\\fBSHOP_WINDOW\\fR",
      ".SH EXIT STATUS", "\\fB5\\fR\nThere was nothing to do.", "\\-\\-window <N>",
    ] {
      #expect(page.contains(part), "\(part)")
    }
    #expect(!page.contains("rehearse"))
    #expect(page == Sample.tool.text(of: .manual(["shop"])))
  }

  @Test(
    "each command has a manual page of its own, with the options of those above it",
    arguments: [["jobs", "list", "--man"], ["help", "jobs", "list", "--man"]])
  func manualOfACommand(words: [String]) throws {
    guard case .show(let page) = try Sample.tool.parse(words) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(page == .manual(["shop", "jobs", "list"]))
    let text = Sample.tool.text(of: page)
    for part in [
      ".TH \"SHOP\\-JOBS\\-LIST\" 1", ".SH NAME\nshop\\-jobs\\-list \\- ",
      "\\fBshop jobs list\\fR [options]", "\\-\\-plan", ".SH OPTIONS OF EVERY SUBCOMMAND", "\\-\\-config",
      ".SH SEE ALSO\n\\fBshop\\-jobs\\fR(1)\n",
    ] {
      #expect(text.contains(part), "\(part)")
    }
    #expect(!text.contains(".SH COMMANDS") && !text.contains("\\-\\-window"))
    #expect(
      Sample.tool.text(of: .manual(["shop", "jobs"])).contains(
        ".SH SEE ALSO\n\\fBshop\\fR(1),\n\\fBshop\\-jobs\\-list\\fR(1),\n"))
  }

  @Test("text in the manual page cannot be taken for a command of roff")
  func roff() {
    let tool = Tool(
      Command(
        "x", abstract: "A \\fBback\\fR.", discussion: ".so /etc/passwd\n\n'quoted'", run: { _ in .done }),
      version: "1")
    let page = tool.text(of: .manual(["x"]))
    #expect(
      page.contains("\\&.so /etc/passwd") && page.contains("\\&'quoted'") && page.contains("\\efBback\\efR"))
  }
}
