import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Support
@testable import statement_printer

@Suite("The program statement-printer")
struct StatementPrinterTests {
  private let folder: TemporaryFolder
  private let statement = StatementExample.withLogo

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test("It draws what is drawn in this program, byte for byte, whatever this program's environment")
  func same() throws {
    for var statement in [StatementExample.statement(others: 300), statement, StatementExample.empty] {
      statement.brand = .init("Ears & Throats")
      let hash = statement.sha256
      let here = try BillPrint(statement, sha256: hash).pdf()
      #expect(try BillPrinter().pdf(statement, sha256: hash) == here)
      #expect(try PrintOrder(PrintOrder(statement, sha256: hash).bytes)?.bill == statement)
    }
  }

  @Test("What is no statement of its version makes no PDF")
  func nonsense() async throws {
    let order = try PrintOrder(statement, sha256: statement.sha256).bytes
    let other = Array("statement0\n".utf8) + order.drop { $0 != UInt8(ascii: "{") }
    for input in [[], Array("nonsense\n".utf8), order.dropLast(), other] as [[UInt8]] {
      let ended = try await run([], input: input)
      #expect(ended.status == PrintOrder.unreadable && ended.output.isEmpty)
      #expect(ended.errors == "The input is no statement that this version knows.\n")
    }
  }

  @Test("Where no font is installed it says so, with what to do, and so does the file's writer")
  func noFont() async throws {
    let fonts = try folder.write("<fontconfig><dir>\(folder.path(""))</dir></fontconfig>", to: "fonts.conf")
    let order = try PrintOrder(statement, sha256: statement.sha256).bytes
    let ended = try await run([], input: order, environment: ["FONTCONFIG_FILE": fonts])
    #expect(ended.status == PrintOrder.refused)
    let said = try folder.write(ended.output, to: "said")
    let error = try #require(try failure("/bin/sh", ["-c", "/bin/cat \(said); exit \(ended.status)"]))
    #expect(error.message == "no font is installed, so that no PDF can be written")
    #expect(error.advice == "install one, such as Debian's package fonts-dejavu-core")
  }

  @Test("Where no font has a name's letters it says so, with what to do")
  func lacksLetters() throws {
    var statement = statement
    statement.holder.name = "Ada \u{12000}\u{12001}"
    let error = try #require(throws: ReportsError.self) { try BillPrinter().pdf(statement, sha256: "") }
    #expect(error.code == .unwritable)
    #expect(error.message == "no font that is installed has all letters of the statement's names")
    #expect(error.advice?.contains("fonts-noto") == true)
  }

  @Test(
    "Where it is missing, of another version or breaks, the reason is said and no file is touched",
    arguments: [
      ("/nonexistent/statement-printer", "", "cannot be started: No such file", true),
      ("/bin/true", "", "another version", true), ("/bin/false", "", "another version", true),
      ("/bin/sh", "exit 65", "another version", true), ("/bin/sh", "exit 127", "ended with 127", true),
      ("/bin/sh", "echo %PDF; kill -SEGV $$", "crashed (signal 11)", false),
      ("/bin/sh", "echo %PDF; kill -KILL $$", "memory was short", false),
      ("/bin/sh", "echo %PDF; kill -XCPU $$", "processor's time", false),
    ])
  func broken(path: String, script: String, words: String, isInstallation: Bool) throws {
    let error = try #require(try failure(path, script.isEmpty ? [] : ["-c", script]))
    #expect(error.code == .unwritable)
    #expect(error.message.hasPrefix("\(path) "))
    #expect(error.message.contains(words), "\(error)")
    #expect(error.advice?.contains("install statement-printer") == isInstallation)
  }

  @Test("It gets an empty environment, no descriptor of this program, and no word of it is lost")
  func environment() throws {
    let script = "echo %PDF; /usr/bin/env | /bin/grep -v -e ^PWD= -e ^SHLVL= -e ^_=; echo /proc/self/fd/*"
    let bytes = try BillPrinter(CompanionProgram(path: "/bin/sh", ["-c", script]))
      .pdf(statement, sha256: "")
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.last.map { $0.split(separator: " ").count <= 4 } == true, "\(lines)")
  }

  @Test("Its help has two lines, and other words are refused")
  func help() async throws {
    let help = try await run(["--help"])
    #expect(help.status == 0)
    #expect(help.output.split(separator: UInt8(ascii: "\n")).count == 2)
    let wrong = try await run(["statement.pdf"])
    #expect(wrong.status == 64 && wrong.output.isEmpty && wrong.errors.utf8.elementsEqual(help.output))
  }

  private func run(
    _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:]
  ) async throws -> RunningProgram.Ended {
    let program = Executable.programs.appending(path: "statement-printer").path
    return try await RunningProgram(program, arguments, environment: environment, input: input).ended()
  }

  /// Why a program makes no file, in whose place another one stays.
  private func failure(_ path: String, _ arguments: [String]) throws -> ReportsError? {
    try folder.write("before", to: "statement.pdf")
    let names = try folder.names
    let printer = BillPrinter(CompanionProgram(path: path, arguments))
    let error = #expect(throws: ReportsError.self) {
      try statement.write(to: folder.path("statement.pdf"), as: .pdf, printer: printer)
    }
    #expect(try folder.names == names)
    #expect(try folder.bytes("statement.pdf") == Array("before".utf8))
    return error
  }
}
