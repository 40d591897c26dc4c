import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl purge of the folder of images by URL, against a server")
struct PurgedCacheTests {
  private static let fetched = 1_800_000_000.0
  private static let day = 86_400.0

  /// A folder with two fetched images.
  private func with(
    _ body: (_ queue: QueueFixture, _ control: Control, _ files: TemporaryFolder) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let (server, files) = (try ImageServer(), try TemporaryFolder())
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      let submitted = await control(
        "submit", "--user", "u1", "--type", "ear", "--url-hosts", server.host, "--url-cache",
        files.path("photos"), "--key-file", files.path("image.keys"), "--url", server.url("/1.png"), "--url",
        server.url("/2.png"))
      #expect(submitted.code == .done, "\(submitted.messages)")
      try await body(queue, control, files)
    }
  }

  private func after(_ seconds: Double, _ control: Control) -> Control {
    var control = control
    control.network.now = { Self.fetched + seconds }
    return control
  }

  /// What the files of images in the folder have in bytes.
  private func bytes(_ files: TemporaryFolder) throws -> Int {
    try files.names(in: "photos").filter { $0 != "names" }.reduce(0) {
      $0 + (try files.bytes("photos/\($1)")).count
    }
  }

  @Test("takes no file before its day is over and needs no key; a dry run says what would go: 5, 0, 0, 5")
  func run() async throws {
    try await with { (_, control, files) async throws in
      let purge = ["purge", "--yes", "--url-cache", files.path("photos")]
      let bytes = try bytes(files)
      let young = await after(Self.day - 1, control).run(purge)
      #expect(young.code == .nothingToDo && young.output == "" && young.messages == "", "\(young.messages)")
      #expect(try files.names(in: "photos").count == 3)
      try files.remove("image.keys")

      let late = after(Self.day, control)
      let dry = await late.run(purge + ["--dry-run"])
      #expect(dry.code == .done && dry.lines.first == "Would be removed:", "\(dry.messages)")
      #expect(
        dry.lines.last?.split(separator: " ") == ["cache", "2", "\(bytes)", "by", "file"], "\(dry.output)")
      #expect(try files.names(in: "photos").count == 3)
      let ran = await late.run(purge + ["--json"])
      #expect(ran.code == .done)
      #expect(
        ran.output
          == #"{"dry_run":false,"complete":true,"removed":[{"kind":"cache","month":null,"rows":2,"bytes":\#(bytes),"whole_month":false}],"#
          + #""busy_months":[],"unclosed_months":[]}"#
          + "\n", "\(ran.output)")
      #expect(try files.names(in: "photos") == ["names"])
      let again = await late.run(purge)
      #expect(again.code == .nothingToDo && again.output == "" && again.messages == "")
    }
  }

  @Test("takes its folder from the environment and the configuration file, where a fetch takes it from too")
  func named() async throws {
    try await with { (_, control, files) async throws in
      try files.write("url-hosts = img.example.org\nurl-cache = \(files.path("photos"))\n", to: "ctl.conf")
      let dry = await after(Self.day, control)("purge", "--config", files.path("ctl.conf"), "--dry-run")
      #expect(dry.code == .done && dry.output.contains("cache"), "\(dry.messages)")
      var late = after(Self.day, control)
      late.environment["ANALYSIS_URL_CACHE"] = files.path("photos")
      #expect(await late("purge", "--yes").code == .done)
      #expect(try files.names(in: "photos") == ["names"])
    }
  }

  @Test("makes no folder that is not there, and says nothing of it")
  func noFolder() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      let ran = await queue.control("purge", "--yes", "--url-cache", files.path("photos"))
      #expect(ran.code == .nothingToDo && ran.output == "" && ran.messages == "", "\(ran.messages)")
      #expect(try files.names == [])
    }
  }

  @Test("alone asks no database; beside a database that is not there it is done and told all the same")
  func withoutDatabase() async throws {
    try await with { (_, control, files) async throws in
      var late = after(Self.day, control)
      late.environment["ANALYSIS_DATABASE"] = "host=/nonexistent"
      let purge = ["purge", "--yes", "--url-cache", files.path("photos")]
      let dry = await late.run(purge + ["--cache-only", "--dry-run"])
      #expect(dry.code == .done && dry.lines.first == "Would be removed:", "\(dry.messages)")
      #expect(try files.names(in: "photos").count == 3)
      let ran = await late.run(purge)
      #expect(ran.code == .unreachable)
      #expect(ran.output.contains("cache") && ran.output.contains("Stopped before the end"), "\(ran.output)")
      #expect(try files.names(in: "photos") == ["names"])
      #expect(await late.run(purge + ["--cache-only"]).code == .nothingToDo)
    }
  }

  @Test("a folder that others may look into is refused with 77, and the database's part is done")
  func openFolder() async throws {
    try await with { (queue, control, files) async throws in
      chmod(files.path("photos"), 0o750)
      try await queue.execute(
        """
        INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls)
        SELECT shard, period, kind, 2, id, user_id, now() - interval '2 days', 0, 0 FROM analysis.job;
        UPDATE analysis.job SET closed = true;
        DELETE FROM analysis.ready;
        UPDATE analysis.usage SET used = 0, refunded = 2;
        UPDATE analysis.image SET used_at = now() - interval '3 days';
        UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images'
        """)
      let ran = await after(Self.day, control)(
        "purge", "--yes", "--url-cache", files.path("photos"), "--share", "100")
      #expect(ran.code == .permission && ran.messages.contains("chmod 700"), "\(ran.messages)")
      #expect(ran.output.contains("images") && !ran.output.contains("cache"), "\(ran.output)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 0)
      #expect(try files.names(in: "photos").count == 3)
    }
  }
}
