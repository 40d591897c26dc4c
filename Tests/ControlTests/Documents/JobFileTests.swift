import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

/// A program that ends as a test says stands in for `analysisctl`. It says what went wrong on standard error.
@Suite("Cron lines and units do what each exit code of their commands asks for")
struct JobFileTests {
  private static let program = "/usr/bin/analysisctl"
  /// What each command may end with where nothing went wrong for the next one, or for who is told.
  private static let passable: [String: Set<ExitCode>] = [
    "month close": [.done, .nothingToDo, .endNotKept],
    "report usage": [.done, .nothingToDo, .jobsStillOpen, .endNotKept],
    "purge": [.done, .nothingToDo, .tryLater], "audit keep": [.done],
  ]
  private static let files = ["analysis-audit", "analysis-purge", "analysis-report"]

  private static func lines(_ file: String) throws -> [Substring] {
    try String(contentsOfFile: packagePath("jobs/\(file)"), encoding: .utf8).split(separator: "\n")
  }

  /// The commands of `analysisctl` in a text, by their names, and the exit codes that each documents.
  private static func commands(in text: some StringProtocol) throws -> [(name: String, codes: [ExitCode])] {
    try String(text).matches(of: /\/usr\/bin\/analysisctl ([a-z ]+?) --/).map { match in
      let path = match.output.1.split(separator: " ").map(String.init)
      var command = ControlProgram.root()
      for word in path { command = try #require(command.subcommands.first { $0.name == word }) }
      return (path.joined(separator: " "), command.exitCodes)
    }
  }

  /// Calls the body with every exit code of each command in turn, while the others end with 0: how all of them end,
  /// which can be passed over, and how many of them are run.
  private static func forEachCode(
    of text: some StringProtocol,
    _ body: (_ codes: [ExitCode], _ isPassed: Bool, _ run: Int) async throws -> Void
  ) async throws {
    let commands = try commands(in: text)
    try #require(!commands.isEmpty)
    for (index, command) in commands.enumerated() {
      #expect(command.codes.count > 3)
      for code in command.codes {
        var codes = commands.map { _ in ExitCode.done }
        codes[index] = code
        let isPassed = try #require(passable[command.name]).contains(code)
        try await body(codes, isPassed, isPassed ? commands.count : index + 1)
      }
    }
  }

  /// Runs a line of the shell; what it ended with, what cron would mail, and how many commands were run.
  private static func run(
    _ line: some StringProtocol, _ codes: [ExitCode], in folder: TemporaryFolder
  ) async throws -> (status: Int32, mail: String, run: Int) {
    let stand = try folder.write(
      """
      echo >> \(folder.path)/runs
      code=$(sed -n "$(wc -l < \(folder.path)/runs)p" \(folder.path)/codes)
      [ "$code" -eq 0 ] || echo "it ended with $code" >&2
      exit "$code"
      """, to: "analysisctl")
    _ = try folder.write("", to: "runs")
    _ = try folder.write(codes.map { "\($0.code)\n" }.joined(), to: "codes")
    let line = String(line).replacing(program, with: "/bin/sh \(stand)").replacing(
      "/var/lib/analysis", with: folder.path)
    let ended = try await HelperProgram.run("/bin/sh", ["-c", line])
    let runs = try String(contentsOfFile: folder.path("runs"), encoding: .utf8)
    return (ended.status, String(decoding: ended.output, as: UTF8.self) + ended.errors, runs.count)
  }

  /// The lines of a cron file from the command on, those that are commented out among them.
  private static func cronLines(_ file: String) throws -> [Substring] {
    try lines("\(file).cron").compactMap { line in
      line.firstMatch(of: /^(# )?[0-9*\/]+( +[0-9*]+){4} +analysis +/).map { line[$0.range.upperBound...] }
    }
  }

  @Test("a cron line goes on where it can, ends with 1 else, and mails what a command said", arguments: files)
  func cron(file: String) async throws {
    let lines = try Self.cronLines(file)
    #expect(!lines.isEmpty)
    for line in lines {
      try await Self.forEachCode(of: line) { codes, isPassed, expected in
        let folder = try TemporaryFolder()
        let (status, mail, run) = try await Self.run(line, codes, in: folder)
        #expect(run == expected, "\(codes.map(\.code)): \(line)")
        // What audit keep says is mailed; its line has no other end.
        if file != "analysis-audit" { #expect((status == 0) == isPassed, "\(codes.map(\.code)): \(line)") }
        for code in codes where code != .done { #expect(mail.contains("it ended with \(code.code)")) }
      }
    }
  }

  @Test(
    "the audit's line, run every 5 minutes, mails once what goes on, and again after an end or a change of it"
  )
  func mailedOnce() async throws {
    let line = try #require(Self.cronLines("analysis-audit").first)
    let folder = try TemporaryFolder()
    var mails: [String] = []
    for code in [.unreachable, .unreachable, .permission, .permission, .done, .done, .permission]
      as [ExitCode]
    {
      mails.append(try await Self.run(line, [code], in: folder).mail)
    }
    let (unreachable, permission) = ("it ended with 69\n", "it ended with 77\n")
    #expect(mails == [unreachable, "", permission, "", "", "", permission])
  }

  @Test("a unit of a timer goes on where it can, and fails else", arguments: files)
  func timer(file: String) async throws {
    let lines = try Self.lines("\(file).service")
    let starts = lines.filter { $0.hasPrefix("ExecStart=") }.map { $0.dropFirst("ExecStart=".count) }
    let accepted = lines.first { $0.hasPrefix("SuccessExitStatus=") }?.split(separator: "=").last ?? ""
    let successes = [0] + accepted.split(separator: " ").compactMap { Int32($0) }
    #expect(lines.contains("Type=oneshot"))
    try await Self.forEachCode(of: starts.joined(separator: "\n")) { codes, isPassed, expected in
      let folder = try TemporaryFolder()
      var (run, hasFailed) = (0, false)
      // As systemd does: one after the other, until one has failed.
      for (start, code) in zip(starts, codes) where !hasFailed {
        let status = try await Self.run(start, [code], in: folder).status
        run += 1
        hasFailed = !successes.contains(status)
      }
      #expect(run == expected && hasFailed != isPassed, "\(file): \(codes.map(\.code))")
    }
  }

  @Test(
    "a unit that serves is started again, whatever it ended with",
    arguments: ["analysis-dashboard@", "analysis-gateway", "analysis-worker"])
  func service(file: String) throws {
    let lines = try Self.lines("\(file).service")
    #expect(lines.contains("Restart=always"))
    #expect(!lines.contains { $0.hasPrefix("RestartPreventExitStatus") || $0.hasPrefix("SuccessExitStatus") })
  }
}
