import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Support

@Suite("analysisctl webhooks, against a server")
struct WebhooksTests {
  private static let url = "https://clinic.example.org/ended?token=confided"

  /// Runs the body with a user u1 and the path of a key file with one key.
  private func withKeys(_ body: (QueueFixture, String) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      let folder = try TemporaryFolder()
      let keys = folder.path("image.keys")
      _ = try KeyFile.addKey(keys, at: 0)
      try await queue.addUser("u1")
      try await body(queue, keys)
    }
  }

  @Test("add prints the secret once; list shows the host alone, in 80 columns; remove asks")
  func add() async throws {
    try await withKeys { (queue, keys) async throws in
      let control = queue.control
      #expect(await control("webhooks", "list").output == "No webhooks.\n")
      _ = await control("clinics", "add", "north")
      let added = await control("webhooks", "add", Self.url, "--clinic", "north", "--key-file", keys)
      #expect(added.code == .done, "\(added.messages)")
      #expect(added.output.hasPrefix("added webhook W1 on clinic.example.org\nsecret whsec_"))
      #expect(!added.output.contains("confided"))
      let secret = try #require(added.output.split(separator: "\n")[1].split(separator: " ").last)
      let shown = await control("webhooks", "list").output
      #expect(
        shown == """
          WEBHOOK  JOBS OF       HOST                STATE  LAST TAKEN  WAITING
          W1       clinic north  clinic.example.org  on     never             0

          """)
      #expect(shown.split(separator: "\n").allSatisfy { $0.count <= 80 })
      let json = await control("webhooks", "list", "--json").output
      #expect(json.contains(#""webhook":"W1","clinic":"north","user":null,"host":"clinic.example.org""#))
      #expect(!json.contains("confided") && !json.contains(secret))
      // The database has neither the secret nor, in the audit, the address.
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.audit_draft WHERE to_jsonb(audit_draft)::text ~ 'confided|whsec'"
        )
          == 0)
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.webhook WHERE position(convert_to('\(secret.dropFirst(6))', 'UTF8') IN secret) > 0"
        ) == 0)
      #expect(await control("webhooks", "remove", "W1").code == .usage)
      #expect(await control("webhooks", "remove", "W2", "--yes").code == .refused)
      #expect(await control("webhooks", "remove", "W1", "--yes").output == "removed webhook W1\n")
      #expect(await control("webhooks", "list").output == "No webhooks.\n")
    }
  }

  @Test("add is refused without a key file, for whom there is not, and for an address that is not https")
  func refused() async throws {
    try await withKeys { (queue, keys) async throws in
      let control = queue.control
      let bare = await control("webhooks", "add", Self.url, "--user", "u1")
      #expect(bare.code == .usage && bare.messages.contains("no key file is named"))
      #expect(await control("webhooks", "add", Self.url, "--key-file", keys).code == .usage)
      let http = await control(
        "webhooks", "add", "http://10.0.0.1/x?confided", "--user", "u1", "--key-file", keys)
      #expect(http.code == .usage && !http.messages.contains("confided"))
      #expect(
        await control("webhooks", "add", Self.url, "--user", "nobody", "--key-file", keys).code == .refused)
      #expect(
        await control("webhooks", "add", Self.url, "--clinic", "nowhere", "--key-file", keys).code == .refused
      )
      let none = await control("webhooks", "test", "W9")
      #expect(none.code == .refused && none.messages.contains("there is no webhook W9"))
      #expect(await control("webhooks", "replay", "W9", "--failed").code == .refused)
      #expect(await control("webhooks", "replay", "W9").code == .usage)
      #expect(await control("webhooks", "replay", "W9", "--event", "17").code == .usage)
    }
  }

  @Test(
    "add refuses an address that it would have to change, and shows no part of it",
    arguments: [
      ("https:///confided", "does not begin with https:// and a host"),
      ("https:/confided", "does not begin with https:// and a host"),
      ("https:confided", "does not begin with https:// and a host"),
      ("confided.example.org/x", "does not begin with https:// and a host"),
      ("https://r.example.org/x#confided", "has a fragment"),
      ("https://r.example.org/#", "has a fragment"),
      ("https://r.example.org/caf\u{e9}", "not ASCII"), ("https://r.example.org/a b", "a space"),
      ("https://r.example.org/a/../b", "part of dots"), ("https://r.example.org/%2e%2E", "part of dots"),
      ("https://r.example.org/./b?c", "part of dots"),
    ])
  func repaired(url: String, why: String) async throws {
    try await withKeys { (queue, keys) async throws in
      let ran = await queue.control("webhooks", "add", url, "--user", "u1", "--key-file", keys)
      #expect(ran.code == .usage && ran.messages.contains(why), "\(ran.messages)")
      #expect(!ran.messages.contains("confided"))
      #expect(try await queue.count("webhook") == 0)
    }
  }

  @Test("add reads an address from standard input, where other users of the machine do not see it")
  func standardInput() async throws {
    try await withKeys { (queue, keys) async throws in
      var control = queue.control
      control.input = Array("\(Self.url)\n".utf8)
      let added = await control("webhooks", "add", "-", "--user", "u1", "--key-file", keys)
      #expect(added.code == .done, "\(added.messages)")
      #expect(
        try await queue.text("SELECT url FROM analysis.webhook")
          == "https://clinic.example.org:443/ended?token=confided")
      control.input = []
      #expect(await control("webhooks", "add", "-", "--user", "u1", "--key-file", keys).code == .usage)
    }
  }

  @Test("An administrator adds one without findings; with them only who may see results, too")
  func rights() async throws {
    try await withKeys { (queue, keys) async throws in
      let arguments = ["webhooks", "add", Self.url, "--user", "u1", "--key-file", keys]
      try await withLoginRole(on: queue.pool, named: "office", in: ["analysis_administrator"]) {
        (role) async throws in
        let office = queue.acting(as: role).control
        #expect(await office.run(arguments).code == .done)
        let refused = await office.run(arguments + ["--with-findings"])
        #expect(refused.code == .permission, "\(refused.messages)")
        #expect(await office("webhooks", "list").code == .done)
      }
      try await withLoginRole(
        on: queue.pool, named: "head", in: ["analysis_administrator", "analysis_clinician"]
      ) { (role) async throws in
        let head = queue.acting(as: role).control
        #expect(await head.run(arguments + ["--with-findings"]).code == .done)
        #expect(await head("webhooks", "list").output.contains("user u1 +findings"))
      }
    }
  }

  @Test("test says that no worker has sent it yet, with 75; replay says how many")
  func waiting() async throws {
    try await withKeys { (queue, keys) async throws in
      let control = queue.control
      _ = await control("webhooks", "add", Self.url, "--user", "u1", "--key-file", keys)
      let test = await control("webhooks", "test", "w1", "--timeout", "0s")
      #expect(test.code == .tryLater && test.output.hasPrefix("no worker has sent the test event evt_0_"))
      let event = try #require(test.output.split(separator: " ").first { $0.hasPrefix("evt_") })
      #expect(
        await control("webhooks", "replay", "1", "--event", String(event)).output
          == "1 events are sent to W1 again; it is on\n")
    }
  }

  @Test("keys remove keeps a key under which a secret is, and keys rotate puts it under the current one")
  func keys() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      let folder = try TemporaryFolder()
      let keys = folder.path("image.keys")
      let first = try KeyFile.addKey(keys, at: 0).currentID
      try await queue.addUser("u1")
      _ = await control("webhooks", "add", Self.url, "--user", "u1", "--key-file", keys)
      let second = try KeyFile.addKey(keys, at: 1).currentID
      let remove = ["keys", "remove", first.description, "--key-file", keys, "--yes"]
      let refused = await control.run(remove)
      #expect(
        refused.code == .refused && refused.messages.contains("The secrets of 1 webhooks are under key"))
      let rotated = await control("keys", "rotate", "--key-file", keys)
      #expect(rotated.code == .done && rotated.messages.contains("The secrets of 1 webhooks"))
      #expect(try await WebhookDirectory(queue.pool).keys() == [second.value: 1])
      #expect(await control.run(remove).code == .done)
    }
  }

  @Test("doctor says which are off, which fail, and for which nobody sends")
  func doctor() {
    func webhook(
      failures: Int = 0, offAt: Double? = nil, dueSince: Double? = nil, failure: String? = nil
    ) -> Webhook {
      Webhook(
        id: WebhookID(3), owner: .clinic("north"), host: "r.example.org", hasFindings: false, createdAt: 0,
        lastSuccessAt: nil, lastFailureAt: nil, lastFailure: failure, failures: failures, offAt: offAt,
        offReason: offAt.map { _ in "failed" }, waiting: 2, dueSince: dueSince)
    }
    func states(_ webhooks: Webhook...) -> [String] {
      WebhookChecks.judge(webhooks, now: 10_000).map { "\($0.check) \($0.state)" }
    }
    #expect(states() == ["webhooks ok"])
    #expect(states(webhook(), webhook(dueSince: 9_900)) == ["webhooks ok"])
    #expect(
      states(webhook(failures: 1), webhook(offAt: 6_400)) == [
        "webhooks.failing warning", "webhooks.off wrong",
      ])
    #expect(states(webhook(dueSince: 9_000)) == ["webhooks.waiting warning"])
    let off = WebhookChecks.judge([webhook(offAt: 6_400, failure: "it answered 500")], now: 10_000)[0]
    #expect(off.seen == "webhook W3 on r.example.org was switched off 60 min ago: it answered 500")
  }
}
