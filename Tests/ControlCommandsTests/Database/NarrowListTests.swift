import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import ControlCommands

@Suite("Lists on a terminal of 80 columns")
struct NarrowListTests {
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
      try await queue.execute("UPDATE analysis.worker SET host = repeat('host-of-a-worker.', 12)")
      control.outputTerminal = Terminal(isTerminal: true, width: 80, height: 30)
      for (command, row) in [
        ("users list", user), ("clinics", clinic), ("jobs list", user), ("jobs list --failed", user),
        ("batches list", "B1"), ("batches show B1", "INVALID_IMAGE_FORMAT"), ("plans", "premium"),
        ("settings", "max_waiting_per_user"), ("status", String(repeating: "host-of-a-worker.", count: 12)),
        ("audit list", "assign_clinic"), ("watch --since 1h --count 3", "\(claimed[0].id)"),
      ] {
        let ran = await control.run(command.split(separator: " ").map(String.init))
        #expect(ran.code == .done || ran.code == .cutShort, "\(command): \(ran.messages)")
        for line in ran.lines where !line.hasPrefix("name ") && !line.hasPrefix("made ") {
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
