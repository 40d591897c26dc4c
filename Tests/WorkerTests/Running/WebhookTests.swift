import Foundation
import HTTPTransfer
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Support
@testable import Worker

@Suite("Webhooks receive how jobs end")
struct WebhookTests {
  /// A worker that ends when the queue is empty and all that is due was delivered.
  private func drain(
    _ queue: QueueFixture, _ backend: Backend, _ ring: KeyRing?,
    _ change: (inout WebhookSettings) -> Void = { _ in }
  ) async throws -> Running {
    var settings = WebhookSettings()
    settings.allowsPrivateAddresses = true
    change(&settings)
    let worker = try Running(queue, [.throat: backend, .ear: backend]) {
      $0.drainHorizon = .seconds(60)
      $0.imageKeys = ring.map { ImageKeys($0) }
      $0.webhooks = settings
    }
    _ = try await worker.summary()
    return worker
  }

  /// A queue with a user whose webhook leads to a receiver.
  private struct Scene {
    let queue: QueueFixture
    let ring: KeyRing
    let receiver: WebhookReceiver
    let secret: String
  }

  /// Makes one.
  ///
  /// - Parameters:
  ///   - host: What the webhook's address has in place of the receiver's own.
  ///   - answer: What the receiver answers.
  private func withReceiver(
    host: String = "127.0.0.1",
    _ answer: @escaping @Sendable (WebhookReceiver.Message) throws -> (status: Int, headers: [String]) = {
      _ in
      (200, [])
    },
    _ body: (Scene) async throws -> Void
  ) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let receiver = try WebhookReceiver(answer)
      let (_, secret) = try await queue.addWebhook(
        receiver.url.replacing("127.0.0.1", with: host), under: ring)
      try await body(Scene(queue: queue, ring: ring, receiver: receiver, secret: secret))
    }
  }

  /// Whether Python, by the program of the page, takes a message for one that was signed with the secret.
  private func isGenuine(
    _ message: WebhookReceiver.Message, _ secret: String, body: String? = nil
  ) async throws -> Bool {
    let page = try String(contentsOfFile: packagePath("docs/webhooks.md"), encoding: .utf8)
    let program = try #require(page.split(separator: "```python\n").last?.split(separator: "\n```").first)
    let headers = message.request.headers.filter { $0.key.hasPrefix("webhook-") }
    let given = try JSONEncoder().encode([
      "secret": secret, "body": body ?? message.text,
      "headers": String(decoding: try JSONEncoder().encode(headers), as: UTF8.self),
    ])
    let script = """
      \(program)
      import json, sys
      given = json.load(sys.stdin)
      print(verify(given["secret"], json.loads(given["headers"]), given["body"].encode()))
      """
    let output = try await HelperProgram.output("/usr/bin/python3", ["-c", script], input: Array(given))
    return String(decoding: output, as: UTF8.self) == "True\n"
  }

  @Test("each once, with a signature that the program of the page verifies, and nothing that was found")
  func delivered() async throws {
    try await withReceiver { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(20)
      let backend = try Backend { call in
        call.number == 3 ? .failure(400, "INVALID_IMAGE_FORMAT") : .analysis(call)
      }
      let worker = try await drain(queue, backend, ring)
      let messages = receiver.messages
      #expect(messages.count == 20 && Set(messages.map(\.id)).count == 20)
      let jobs = try await queue.texts("SELECT id::text FROM analysis.job ORDER BY id")
      #expect(messages.compactMap { $0["job"] }.sorted() == jobs.sorted())
      #expect(messages.filter { $0["state"] == "dead" }.count == 1)
      #expect(messages.filter { $0["state"] == "succeeded" }.count == 19)
      let first = try #require(messages.first)
      #expect(first.request.method == "POST" && first.request.target == "/ended?token=confided")
      #expect(first["event"] == "analysis.ended" && first["id"] == first.id && first["at"] != nil)
      #expect(first.request.headers["content-type"] == "application/json")
      #expect(!messages.contains { $0.text.contains("findings") || $0.text.contains("Strep") })
      #expect(try await isGenuine(first, scene.secret))
      #expect(try await !isGenuine(first, scene.secret, body: first.text + " "))
      #expect(try await !isGenuine(first, try WebhookSecret().text))
      // Nothing but the host is in the log.
      #expect(!worker.log.lines.contains { $0.contains("confided") || $0.contains("whsec_") })
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.webhook_event WHERE delivered_at IS NULL")
          == 0)
      #expect(worker.counters.labelled("webhook_deliveries").values == ["delivered": 20])
      try await queue.expectSound()
    }
  }

  @Test("with what was found only where that was asked for, and of a clinic's users alone")
  func findings() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'ann', 'north')")
      let ring = try KeyRing(at: 0)
      let receiver = try WebhookReceiver()
      _ = try await queue.addWebhook(receiver.url, clinic: "north", under: ring, findings: true)
      try await queue.submit(1, user: "ann")
      try await queue.submit(1, user: "bob")
      _ = try await drain(queue, try Backend(), ring)
      let message = try #require(receiver.messages.first)
      #expect(receiver.messages.count == 1)
      #expect(message.text.contains(#""findings":{"#) && message.text.contains("Strep Throat"))
      #expect(message.text.contains(#""confidence": 0.83"#) && message.text.contains(#""band": "red""#))
    }
  }

  @Test("that a limit was reached, with the user as the back-end calls them")
  func limit() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann \"a\"", plan: "free")
      let ring = try KeyRing(at: 0)
      let receiver = try WebhookReceiver()
      _ = try await queue.addWebhook(receiver.url, user: "ann \"a\"", under: ring)
      try await queue.submit(4, user: "ann \"a\"")
      _ = try await drain(queue, try Backend(), ring)
      let messages = receiver.messages.filter { $0["event"] == "limit.reached" }
      #expect(messages.count == 1 && receiver.messages.count == 5)
      let text = try #require(messages.first).text
      let body = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
      let limit = try #require(body["limit"] as? [String: Any])
      #expect(limit["user"] as? String == "ann \"a\"" && limit["percent"] as? Int == 80)
      #expect((limit["month"] as? String)?.count == 7 && body["job"] == nil && body["state"] == nil)
    }
  }

  @Test("What is not taken comes again with the same number and body, and a new signature")
  func retried() async throws {
    try await withReceiver({ message in message.number == 1 ? (500, []) : (204, []) }) { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(1)
      _ = try await drain(queue, try Backend(), ring)
      let delay = try await queue.number(
        """
        SELECT round(extract(epoch FROM e.due_at - w.last_failure_at))::int
        FROM analysis.webhook_event e JOIN analysis.webhook w ON w.id = e.webhook_id
        """)
      #expect(receiver.messages.count == 1 && delay == 5)
      #expect(
        try await queue.text("SELECT last_failure FROM analysis.webhook") == "it answered 500")
      try await queue.hurry()
      _ = try await drain(queue, try Backend(), ring)
      let messages = receiver.messages
      #expect(messages.count == 2)
      #expect(Set(messages.map(\.id)).count == 1 && Set(messages.map(\.text)).count == 1)
      #expect(try await isGenuine(messages[1], scene.secret))
      #expect(try await queue.number("SELECT failures FROM analysis.webhook") == 0)
    }
  }

  @Test(
    "A receiver that is busy is left alone for as long as it says",
    arguments: [(429, 3600), (503, 3600), (500, 5)])
  func busy(status: Int, seconds: Int) async throws {
    try await withReceiver({ _ in (status, ["Retry-After: 3600"]) }) { scene in
      let (queue, ring) = (scene.queue, scene.ring)
      try await queue.submit(3)
      _ = try await drain(queue, try Backend(), ring)
      let waits = try await queue.numbers(
        "SELECT round(extract(epoch FROM retry_at - last_failure_at))::int FROM analysis.webhook")
      #expect(waits == [seconds])
    }
  }

  @Test("A receiver that answers 410 is switched off at once")
  func gone() async throws {
    try await withReceiver({ _ in (410, []) }) { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(1)
      let worker = try await drain(queue, try Backend(), ring)
      #expect(try await queue.text("SELECT off_reason FROM analysis.webhook") == "gone")
      #expect(worker.log.lines.contains { $0.contains("switched off") })
      try await queue.submit(1, user: "clinic")
      _ = try await drain(queue, try Backend(), ring)
      #expect(receiver.messages.count == 1)
      #expect(try await queue.count("webhook_event") == 1)
    }
  }

  @Test("Nothing is sent to an address that is not public, nor where a redirect leads")
  func addresses() async throws {
    let near = try WebhookReceiver()
    try await withReceiver({ _ in (307, ["Location: \(near.url)"]) }) { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(1)
      _ = try await drain(queue, try Backend(), ring) { $0.allowsPrivateAddresses = false }
      #expect(receiver.messages.isEmpty)
      #expect(
        try await queue.text("SELECT last_failure FROM analysis.webhook")
          == "the host 127.0.0.1 leads to an address that is this machine's own")
      try await queue.hurry()
      _ = try await drain(queue, try Backend(), ring)
      #expect(receiver.messages.count == 1 && near.messages.isEmpty)
      #expect(
        try await queue.text("SELECT last_failure FROM analysis.webhook")
          == "it answered 307, and no redirect is followed")
    }
  }

  @Test("A name that leads to a near address beside a public one is looked up once, and sent nothing")
  func mixed() async throws {
    try await withReceiver(host: "receiver.test") { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(1)
      let asked = Mutex(0)
      _ = try await drain(queue, try Backend(), ring) {
        $0.allowsPrivateAddresses = false
        $0.resolver = NameResolver { _ in
          asked.withLock { $0 += 1 }
          return [IPAddress("203.0.114.1"), IPAddress("127.0.0.1")].compactMap { $0 }
        }
      }
      #expect(asked.withLock { $0 } == 1 && receiver.messages.isEmpty)
    }
  }

  @Test("A receiver that hangs holds up neither another one nor the analyses")
  func hanging() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let ring = try KeyRing(at: 0)
      let gate = Gate()
      let slow = try WebhookReceiver { _ in
        gate.wait()
        return (200, [])
      }
      let quick = try WebhookReceiver()
      _ = try await queue.addWebhook(slow.url, user: "ann", under: ring)
      _ = try await queue.addWebhook(quick.url, user: "bob", under: ring)
      try await queue.submit(10, user: "ann")
      try await queue.submit(10, user: "bob")
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageKeys = ImageKeys(ring)
        $0.webhooks.allowsPrivateAddresses = true
        $0.webhooks.every = .milliseconds(20)
        $0.webhooks.deadline = .seconds(600)
      }
      try await eventually("the other to receive all, and all to be analysed") {
        let results = try await queue.results
        return quick.messages.count == 10 && results == 20 && !slow.messages.isEmpty
      }
      for _ in 0..<20 { gate.open() }
      try await eventually("the slow one to receive them too") { slow.messages.count == 10 }
      worker.stop()
      _ = try await worker.summary()
      #expect(Set(slow.messages.map(\.id)).count == 10 && backend.calls.count == 20)
    }
  }

  @Test("All that is due goes out at once, however long it is until the worker looks again")
  func backlog() async throws {
    try await withQueue { queue in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      let ring = try KeyRing(at: 0)
      let (many, one) = (try WebhookReceiver(), try WebhookReceiver())
      _ = try await queue.addWebhook(many.url, user: "ann", under: ring)
      _ = try await queue.addWebhook(one.url, user: "bob", under: ring)
      try await queue.submit(70, user: "ann")
      try await queue.submit(1, user: "bob")
      let backend = try Backend()
      _ = try await drain(queue, backend, nil)
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageKeys = ImageKeys(ring)
        $0.webhooks.allowsPrivateAddresses = true
        $0.webhooks.every = .seconds(3600)
        // The second receiver's turn comes when the first has all of a batch.
        $0.webhooks.receivers = 1
      }
      try await eventually("both to receive all") { many.messages.count == 70 && one.messages.count == 1 }
      worker.stop()
      _ = try await worker.summary()
      #expect(Set(many.messages.map(\.id)).count == 70)
    }
  }

  @Test("What is due of a receiver in many shards goes out at once too")
  func manyShards() async throws {
    try await withQueue(shards: 8) { queue in
      let users = (1...24).map { "user\($0)" }
      try await queue.execute("SELECT analysis.add_clinic('north')")
      for user in users {
        try await queue.addUser(user)
        try await queue.execute(
          "SELECT analysis.assign_clinic(analysis.shard_of('\(user)'), '\(user)', 'north')")
      }
      let ring = try KeyRing(at: 0)
      let receiver = try WebhookReceiver()
      _ = try await queue.addWebhook(receiver.url, clinic: "north", under: ring)
      for user in users { try await queue.submit(1, user: user) }
      let backend = try Backend()
      _ = try await drain(queue, backend, nil)
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageKeys = ImageKeys(ring)
        $0.webhooks.allowsPrivateAddresses = true
        $0.webhooks.every = .seconds(3600)
      }
      try await eventually("it to receive all") { receiver.messages.count == users.count }
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("A worker that is lost after the delivery leaves the event to another, with the same number")
  func lost() async throws {
    try await withReceiver { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(1)
      _ = try await drain(queue, try Backend(), ring)
      #expect(receiver.messages.count == 1)
      // As if it had been lost before it stored that: the event is its own until the two minutes are over.
      try await queue.execute(
        """
        UPDATE analysis.webhook_event SET delivered_at = NULL, due_at = now() + interval '2 minutes', worker_id = 1
        """)
      _ = try await drain(queue, try Backend(), ring)
      #expect(receiver.messages.count == 1)
      try await queue.hurry()
      _ = try await drain(queue, try Backend(), ring)
      let messages = receiver.messages
      #expect(messages.count == 2 && messages[0].id == messages[1].id && messages[0].text == messages[1].text)
    }
  }

  @Test(
    "Without the key file nothing is sent; under another one it fails with what is missing, and comes later")
  func keyMissing() async throws {
    try await withReceiver { scene in
      let (queue, ring, receiver) = (scene.queue, scene.ring, scene.receiver)
      try await queue.submit(2)
      _ = try await drain(queue, try Backend(), nil)
      #expect(try await queue.number("SELECT sum(attempts)::int FROM analysis.webhook_event") == 0)
      _ = try await drain(queue, try Backend(), try KeyRing(at: 0))
      #expect(
        try await queue.text("SELECT last_failure FROM analysis.webhook")
          == "this worker's key file lacks key \(ring.currentID)")
      #expect(receiver.messages.isEmpty)
      try await queue.hurry()
      _ = try await drain(queue, try Backend(), ring)
      #expect(receiver.messages.count == 2)
    }
  }

  @Test("An address that was changed in the database is sent nothing")
  func tampered() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let (meant, other) = (try WebhookReceiver(), try WebhookReceiver())
      _ = try await queue.addWebhook(meant.url, under: ring)
      try await queue.execute("UPDATE analysis.webhook SET url = '\(other.url)'")
      try await queue.submit(1)
      _ = try await drain(queue, try Backend(), ring)
      #expect(meant.messages.isEmpty && other.messages.isEmpty)
      #expect(
        try await queue.text("SELECT last_failure FROM analysis.webhook")
          == "the secret does not open: it or the address was changed")
    }
  }
}
