import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue

/// The programs that sql.md links to, each run as it stands by the language's own driver against a server.
@Suite("The programs that sql.md shows")
struct DocumentedProgramTests {
  /// A language of a program that the page links to, and how that is run.
  struct Language: Sendable {
    let file: String
    let run: [String]
    /// Ends with 0 where the driver is installed.
    let probe: [String]
    var environment: [String: String] = [:]
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static let interpreter = environment["ANALYSIS_PYTHON"] ?? "python3"

  static let python = Language(
    file: "submit.py", run: [interpreter, "submit.py"],
    probe: [interpreter, "-c", "import psycopg"])
  // Debian keeps the libraries of JavaScript and Go where its own programs look.
  static let javaScript = Language(
    file: "submit.js", run: ["node", "submit.js"],
    probe: ["node", "-e", "require('pg')"],
    environment: ["NODE_PATH": environment["NODE_PATH"] ?? "/usr/share/nodejs"])
  static let go = Language(
    file: "submit.go", run: ["go", "run", "submit.go"],
    probe: ["go", "list", "github.com/jackc/pgx/v4"],
    environment: ["GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "", "GOPROXY": "off"])

  static func isInstalled(_ language: Language) async throws -> Bool {
    try await ended(language, language.probe, in: try TemporaryFolder()).status == 0
  }

  private static func ended(
    _ language: Language, _ command: [String], database: String = "", in folder: TemporaryFolder
  ) async throws -> RunningProgram.Ended {
    var variables = environment.merging(language.environment) { $1 }
    variables["DATABASE_URL"] = database
    variables["GOCACHE"] = folder.path("cache")
    return try await RunningProgram(
      "/usr/bin/env", command, environment: variables, directory: URL(fileURLWithPath: folder.path)
    ).ended()
  }

  @Test(
    "in Python submits, waits and prints what was found",
    .enabled("needs psycopg, in ANALYSIS_PYTHON") { try await isInstalled(python) })
  func pythonProgram() async throws { try await run(Self.python) }

  @Test(
    "in JavaScript submits, waits and prints what was found",
    .enabled("needs node and Debian's node-pg") { try await isInstalled(javaScript) })
  func javaScriptProgram() async throws { try await run(Self.javaScript) }

  @Test(
    "in Go submits, waits and prints what was found",
    .enabled("needs go and Debian's golang-github-jackc-pgx-v4-dev") { try await isInstalled(go) })
  func goProgram() async throws { try await run(Self.go) }

  /// The file that the page links to.
  private static func program(in language: Language) throws -> String {
    let page = try #require(MarkdownFile.named("docs/sql.md"))
    let link = try #require(page.links.first { $0.path == "examples/\(language.file)" })
    return try String(contentsOfFile: packagePath(page.target(of: link)), encoding: .utf8)
  }

  private func run(_ language: Language) async throws {
    let folder = try TemporaryFolder()
    try folder.write(try Self.program(in: language), to: language.file)
    try folder.write(TinyPicture.png(grey: 1), to: "throat.jpg")

    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await withLogin(of: ["submitter"], in: queue) { (login) async throws in
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute(HostileSettings.cure(for: "ROLE \(name) IN DATABASE \(queue.database.name)"))
        let server = try await queue.text(
          "SELECT current_setting('port') || '/' || current_database() || '?host=' || split_part("
            + "current_setting('unix_socket_directories'), ',', 1)")
        let url = "postgresql://\(name)@localhost:\(server)"
        async let program = Self.ended(language, language.run, database: url, in: folder)
        try await eventually { try await queue.number("SELECT count(*)::int FROM analysis.ready") == 1 }
        let job = try await queue.claimJobs()[0]
        try await queue.complete(job)
        let ended = try await program
        let output = String(decoding: ended.output, as: UTF8.self)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(output.hasPrefix("\(job.id) succeeded"), "\(output)")
        #expect(output.contains("Tonsillitis orange\n"), "\(output)")
      }
    }
  }
}
