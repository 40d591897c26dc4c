import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Queue
@testable import Support

@Suite("Lists on a terminal of 80 columns")
struct NarrowListTests {
  /// How the facts of one thing begin that may be longer than a line.
  private func facts(of command: String) -> [String] {
    ["name ", "made "] + (command.hasPrefix("jobs show") ? ["user ", "file ", "reference ", "failed "] : [])
      + (command.hasPrefix("reviews list --job") ? ["user ", "found "] : [])
  }

  @Test("fit it with the longest names, and cut nothing by which a row is known")
  func fits() async throws {
    try await withQueue { (queue) async throws in
      let user = "user-" + String(repeating: "0123456789", count: 19)
      let clinic = String(repeating: "Clinic-of-the-North-", count: 4) + "1"
      try await queue.addUser(user, zone: "America/Argentina/Buenos_Aires")
      let files = try TemporaryFolder()
      let name = String(repeating: "long name ", count: 20)
      try files.write(TinyPicture.png(grey: 10), to: "\(name)1.png")
      try files.write(TinyPicture.png(grey: 20), to: "\(name)2.png")
      let keyFolder = try TemporaryFolder()
      let keys = keyFolder.path("image.keys")
      let key = try KeyFile.addKey(keys, at: 0).currentID.description
      var control = queue.control
      for arguments in [
        ["clinics", "add", clinic], ["clinics", "assign", user, clinic],
        [
          "submit", "--user", user, "--type", "throat", "--name", String(repeating: "batch ", count: 16),
          "--reference", String(repeating: "r", count: 200), files.path,
        ],
      ] {
        #expect(await control.run(arguments).code == .done)
      }
      let claimed = try await queue.claimJobs()
      try await queue.kill(claimed[0])
      _ = try await queue.statements.heartbeat([1000], leaseDuration: .seconds(60), inFlight: 1).run(
        on: queue.pool)
      _ = try await queue.statements.complete([
        queue.completed(claimed[1], name: String(repeating: "Condition ", count: 19))
      ]).run(on: queue.pool)
      let lost = try await queue.create([Ask(user, image: "lost")])[0]
      // A counter that is wrong, a job that is lost, what is past its time, and a failure with long words.
      try await queue.execute(
        """
        UPDATE analysis.worker SET host = repeat('host-of-a-worker.', 12);
        UPDATE analysis.attempt_error SET message = repeat('message ', 24), endpoint = repeat('endpoint.', 20),
          error_id = repeat('e', 60);
        UPDATE analysis.usage SET used = used + 10000;
        DELETE FROM analysis.ready WHERE job_id = \(lost);
        UPDATE analysis.image SET used_at = '2000-01-01';
        UPDATE analysis.result SET finished_at = '2000-01-01';
        UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images'
        """)
      control.outputTerminal = Terminal(isTerminal: true, width: 80, height: 30)
      for (command, row) in [
        ("users list", user), ("clinics", clinic), ("jobs list", user), ("jobs list --failed", user),
        ("batches list", "B1"), ("batches show B1", "INVALID_IMAGE_FORMAT"), ("plans", "premium"),
        ("settings", "max_waiting_per_user"), ("status", String(repeating: "host-of-a-worker.", count: 12)),
        ("jobs show \(claimed[0].id)", "INVALID_IMAGE_FORMAT"), ("jobs show \(claimed[1].id)", "83%"),
        ("reconcile", user), ("reconcile", "\(lost)"), ("keys list --key-file \(keys)", key),
        ("purge --dry-run", "by row"), ("audit list", "assigned user #"),
        ("watch --since 1h --count 3", "\(claimed[0].id)"),
        ("reviews add \(claimed[1].id) --verdict agree", "agree"),
        ("reviews comment \(claimed[1].id) \(String(repeating: "long", count: 60))", "comment 1 added"),
        ("reviews list", user), ("reviews list --job \(claimed[1].id)", "wrote"),
        ("report agreement", "100%"), ("report calibration", "80-90 %"),
      ] {
        let ran = await control.run(command.split(separator: " ").map(String.init))
        // What differs and what is lost is found; all else is as it has to be.
        #expect(ran.code == (command == "reconcile" ? .jobFailed : .done), "\(command): \(ran.messages)")
        // A fact of one thing, such as its name, is never cut.
        for line in ran.lines where !facts(of: command).contains(where: line.hasPrefix) {
          #expect(displayWidth(line.uncoloured) <= 80, "\(command): \(line)")
        }
        // What goes on in the next line stands below its beginning.
        var rest = row[...]
        for line in ran.lines where !rest.isEmpty {
          let words = line.uncoloured.split(separator: " ", omittingEmptySubsequences: false)
          guard let part = words.first(where: { !$0.isEmpty && rest.hasPrefix($0) }) else { continue }
          rest = rest.dropFirst(part.count).drop { $0 == " " }
        }
        let text = ran.output.uncoloured
        #expect(rest.isEmpty || text.contains(row), "\(command): \(text)")
      }
    }
  }
}

extension String {
  /// Without the codes of colours.
  fileprivate var uncoloured: String { replacing(/\u{1B}\[[0-9;]*m/, with: "") }
}
