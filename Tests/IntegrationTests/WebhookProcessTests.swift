import Foundation
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@Suite("Webhooks, by the real executables")
struct WebhookProcessTests {
  /// What a receiver has heard: the numbers of the events, and the bodies.
  private final class Heard: Sendable {
    private let messages = Mutex<[[String]]>([])

    var all: [[String]] { messages.withLock { $0 } }

    /// Answers how many there are now.
    func add(_ request: RawConnection.Received) -> Int {
      messages.withLock { messages in
        messages.append([
          request.headers["webhook-id"] ?? "", String(decoding: request.body, as: UTF8.self),
        ])
        return messages.count
      }
    }
  }

  @Test("A worker that is killed between the delivery and its storing leaves the event, with its number")
  func killed() async throws {
    try await Installation.with(jobs: 1) { installation in
      let folder = try TemporaryFolder()
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(try await installation.control(["keys", "new"] + keys).code == 0)
      let (heard, gate) = (Heard(), Gate())
      let receiver = try RawServer { connection in
        while let request = try connection.readRequest() {
          // The first has been taken, and its sender is killed before it hears so.
          if heard.add(request) == 1 { gate.wait() }
          try connection.respond(200)
        }
      }
      defer { receiver.stop() }
      let added = try await installation.control(
        ["webhooks", "add", receiver.url + "/ended", "--user", installation.user, "--allow-plain-http"] + keys
      )
      #expect(added.code == 0 && added.output.contains("secret whsec_"), "\(added.messages)")

      let first = try installation.worker(keys + ["--webhooks-to-private"])
      try await eventually("the first delivery") { heard.all.count == 1 }
      first.send(SIGKILL)
      #expect(await first.ended().wasKilled)
      gate.open()
      #expect(
        try await installation.queue.number(
          "SELECT count(*)::int FROM analysis.webhook_event WHERE delivered_at IS NULL") == 1)
      // As if the two minutes were over for which it had the event.
      try await installation.queue.execute(
        "UPDATE analysis.webhook_event SET due_at = now() - interval '1 second'")

      let second = try await installation.worker(keys + ["--webhooks-to-private", "--drain"]).ended()
      #expect(second.code == 0, "\(second.messages)")
      #expect(heard.all.count == 2 && heard.all.first == heard.all.last, "\(heard.all)")
      #expect(
        try await installation.queue.number(
          "SELECT count(*)::int FROM analysis.webhook_event WHERE delivered_at IS NOT NULL") == 1)
      let listed = try await installation.control(["webhooks", "list"])
      #expect(listed.output.contains("user clinic-1  127.0.0.1") && listed.output.contains("on"))
    }
  }
}
