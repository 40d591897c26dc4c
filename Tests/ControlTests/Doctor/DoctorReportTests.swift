import Testing

@testable import CommandLineTool
@testable import Control

@Suite("What doctor found is shown")
struct DoctorReportTests {
  private let response = DoctorReport(
    findings: [
      .ok("server.version", "PostgreSQL 15.18"),
      .warning("volume.limit", "the database has 5 GB, and nothing stops submits", "Set a limit."),
      .wrong("workers.alive", "none was heard of", "Start \u{1B}[31manalysis-worker."),
      .skipped("endpoint", "no endpoint was named"),
    ], isDatabaseReached: true)

  @Test("what is wrong first, the advice below, nothing unprintable, and how many checks passed")
  func text() {
    #expect(
      Fixed.text(response) == """
        wrong    workers.alive  none was heard of
                 -> Start [31manalysis-worker.
        warning  volume.limit   the database has 5 GB, and nothing stops submits
                 -> Set a limit.

        1 wrong, 1 warning, 1 check passed, 1 skipped (--all lists them)

        """)
    let well = DoctorReport(findings: Array(response.findings.prefix(1)), isDatabaseReached: true)
    #expect(Fixed.text(well) == "1 check passed (--all lists them)\n")
  }

  @Test("with those that passed where all are asked for")
  func all() {
    var response = response
    response.listsAll = true
    #expect(
      Fixed.text(response).hasSuffix(
        """
                 -> Set a limit.
        ok       server.version  PostgreSQL 15.18
        skipped  endpoint        no endpoint was named

        1 wrong, 1 warning, 1 check passed, 1 skipped

        """))
  }

  @Test("as JSON")
  func json() {
    #expect(
      Fixed.json(response).hasPrefix(
        #"{"database_reached":true,"counts":{"ok":1,"warning":1,"wrong":1,"skipped":1},"findings":["#
          + #"{"check":"server.version","state":"ok","seen":"PostgreSQL 15.18","advice":null},"#))
  }

  @Test("the exit code: warnings are a failure where they are named, and without the database it is 69")
  func exitCode() {
    #expect(response.exitCode(failingOn: .wrong) == .jobFailed)
    let unreached = DoctorReport(findings: response.findings, isDatabaseReached: false)
    #expect(unreached.exitCode(failingOn: .warning) == .unreachable)
    let warned = DoctorReport(findings: Array(response.findings.prefix(2)), isDatabaseReached: true)
    #expect(warned.exitCode(failingOn: .wrong) == .done)
    #expect(warned.exitCode(failingOn: .warning) == .jobFailed)
    let well = DoctorReport(findings: Array(response.findings.prefix(1)), isDatabaseReached: true)
    #expect(well.exitCode(failingOn: .warning) == .done)
  }
}
