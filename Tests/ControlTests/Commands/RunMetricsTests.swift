import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("--metrics-file")
struct RunMetricsTests {
  private func metrics(_ files: TemporaryFolder) throws -> MetricsText {
    MetricsText(try files.text("run.prom"))
  }

  @Test("has whether the run succeeded, its exit code, when it ended and how long it took")
  func written() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      let ran = await queue.control("purge", "--yes", "--metrics-file", files.path("run.prom"))
      #expect(ran.code == .nothingToDo && ran.messages == "", "\(ran.messages)")
      let text = try metrics(files)
      #expect(text["analysis_run_success{command=\"purge\"}"] == 1)
      #expect(text["analysis_run_exit_code{command=\"purge\"}"] == 5)
      #expect(try #require(text["analysis_run_duration_seconds{command=\"purge\"}"]) > 0)
      let ended = try #require(text["analysis_run_timestamp_seconds{command=\"purge\"}"])
      #expect(text["analysis_run_last_success_timestamp_seconds{command=\"purge\"}"] == ended)
      #expect(text.names == Set(RunMetrics.all.map(\.name)))
      let mode = try FileManager.default.attributesOfItem(atPath: files.path("run.prom"))[.posixPermissions]
      #expect(mode as? Int == 0o644)
      if Promtool.isAvailable {
        #expect(try await Promtool.complaints(ofMetrics: files.text("run.prom")) == "")
      }
    }
  }

  @Test("of a run that failed keeps when one succeeded last, and the run fails as without it")
  func failed() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      let file = files.path("run.prom")
      let done = await queue.control("report", "usage", "--metrics-file", file)
      #expect(done.code == .done, "\(done.messages)")
      let succeeded = try #require(
        try metrics(files)["analysis_run_last_success_timestamp_seconds{command=\"report usage\"}"])
      let failed = await queue.control(
        "report", "usage", "--due", "/nonexistent/folder", "--metrics-file", file)
      #expect(failed.code == .usage && failed.messages.contains("there is no folder"), "\(failed.messages)")
      let text = try metrics(files)
      #expect(text["analysis_run_success{command=\"report usage\"}"] == 0)
      #expect(text["analysis_run_exit_code{command=\"report usage\"}"] == 64)
      #expect(text["analysis_run_last_success_timestamp_seconds{command=\"report usage\"}"] == succeeded)
    }
  }

  @Test("keeps what another command wrote to the same file, such as the one that the timer runs before")
  func shared() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      let file = files.path("run.prom")
      _ = await queue.control("month", "close", "--due", "--yes", "--metrics-file", file)
      let first = try metrics(files)
      #expect(first["analysis_run_exit_code{command=\"month close\"}"] == 5)
      let succeeded = try #require(
        first["analysis_run_last_success_timestamp_seconds{command=\"month close\"}"])
      _ = await queue.control("report", "usage", "--due", "/nonexistent/folder", "--metrics-file", file)
      _ = await queue.control("report", "usage", "--due", files.path, "--metrics-file", file)
      let both = try metrics(files)
      #expect(both["analysis_run_exit_code{command=\"month close\"}"] == 5)
      #expect(both["analysis_run_last_success_timestamp_seconds{command=\"month close\"}"] == succeeded)
      #expect(both["analysis_run_exit_code{command=\"report usage\"}"] == 5)
      if Promtool.isAvailable {
        #expect(try await Promtool.complaints(ofMetrics: files.text("run.prom")) == "")
      }
    }
  }

  @Test("says that a database cannot be reached")
  func unreachable() async throws {
    let files = try TemporaryFolder()
    let ran = await Control(database: "host=/nonexistent")("doctor", "--metrics-file", files.path("run.prom"))
    #expect(ran.code == .unreachable)
    #expect(try metrics(files)["analysis_run_exit_code{command=\"doctor\"}"] == 69)
    #expect(try metrics(files)["analysis_run_last_success_timestamp_seconds{command=\"doctor\"}"] == nil)
  }

  @Test("that cannot be written is told of, and changes nothing of the run")
  func unwritable() async throws {
    try await withQueue { (queue) async throws in
      let ran = await queue.control("purge", "--yes", "--metrics-file", "/nonexistent/run.prom")
      #expect(ran.code == .nothingToDo)
      #expect(ran.messages.contains("could not be written"), "\(ran.messages)")
    }
  }

  @Test("ends in .prom, since node_exporter reads no other")
  func ending() async throws {
    let ran = await Control()("purge", "--metrics-file", "/tmp/run.txt")
    #expect(ran.code == .usage && ran.messages.contains(".prom"), "\(ran.messages)")
  }

  @Test("is taken by every command that a timer or a cron file runs")
  func jobs() throws {
    let folder = packagePath("jobs")
    var commands: Set<String> = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.hasSuffix(".cron") || name.hasSuffix(".service") {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for match in text.matches(of: /\/usr\/bin\/analysisctl ((?:[a-z]+ )+)/) {
        let command = match.output.1.trimmingCharacters(in: .whitespaces)
        // It goes on, and serves its metrics itself.
        guard command != "serve" else { continue }
        commands.insert(command)
        #expect(
          text.contains("# Environment=ANALYSIS_METRICS_FILE=/var/lib/prometheus/node-exporter/")
            || text.contains("# ANALYSIS_METRICS_FILE=/var/lib/prometheus/node-exporter/"), "\(name)")
      }
    }
    #expect(commands.isSuperset(of: ["month close", "report usage", "purge", "audit keep"]), "\(commands)")
    for command in commands {
      let help = ControlProgram.tool().text(
        of: .help(["analysisctl"] + command.split(separator: " ").map(String.init)))
      #expect(help.contains("--metrics-file"), "\(command)")
    }
  }
}
