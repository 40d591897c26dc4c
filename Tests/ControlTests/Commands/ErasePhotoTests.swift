import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl erase of a photo that this machine fetched, against a server")
struct ErasePhotoTests {
  /// Two users whose photos were fetched.
  private func with(
    _ body: (_ queue: QueueFixture, _ control: Control, _ files: TemporaryFolder) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      let (server, files) = (try ImageServer(), try TemporaryFolder())
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      for number in 1...2 {
        try await queue.addUser("u\(number)")
        _ = try await queue.pool.query(
          "UPDATE analysis.profile SET photo_url = $1 WHERE user_id = (SELECT user_id FROM analysis.account WHERE user_ref = $2)",
          [.text(server.url("/\(number).png?SECRET")), .text("u\(number)")])
      }
      let fetched = await control(
        "users", "prefetch-photos", "--url-hosts", server.host, "--url-cache", files.path("photos"),
        "--key-file",
        files.path("image.keys"))
      #expect(fetched.code == .done, "\(fetched.messages)")
      try await body(queue, control, files)
    }
  }

  @Test("a dry run says that it would go; then it goes, no other does, and the receipt says so")
  func removed() async throws {
    try await with { (_, control, files) async throws in
      // Wherever it came from: its host need not be one of which is fetched any more.
      let erase = [
        "erase", "--user", "u1", "--confirm", "u1", "--url-cache", files.path("photos"), "--key-file",
        files.path("image.keys"),
      ]
      let before = try files.names(in: "photos")
      let dry = await control.run(erase + ["--dry-run", "--json"])
      #expect(dry.code == .done, "\(dry.messages)")
      #expect(dry.output.contains(#""cached_photo":"removed","cached_photo_reason":null"#), "\(dry.output)")
      #expect(try files.names(in: "photos") == before)
      let erased = await control.run(erase + ["--receipt", files.path("u1.json")])
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(erased.output.contains("cached photo         removed from this machine\n"), "\(erased.output)")
      #expect(try files.text("u1.json").contains(#""cached_photo":"removed""#))
      #expect(try files.names(in: "photos").count == before.count - 1)
      #expect(!(erased.output + erased.messages + (try files.text("u1.json"))).contains("SECRET"))
    }
  }

  @Test("where this machine has none, that is said, and nothing is made for it")
  func absent() async throws {
    try await with { (_, control, files) async throws in
      let erased = await control(
        "erase", "--user", "u1", "--confirm", "u1", "--url-cache", files.path("other"), "--key-file",
        files.path("image.keys"),
        "--json")
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(
        erased.output.contains(#""cached_photo":"not_cached","cached_photo_reason":null"#), "\(erased.output)"
      )
      #expect(try !files.names.contains("other"))
      // Fetched in another run than the other's, and gone since.
      try files.names(in: "photos").filter { $0 != "names" }.forEach { try files.remove("photos/\($0)") }
      let other = await control(
        "erase", "--user", "u2", "--confirm", "u2", "--url-cache", files.path("photos"), "--key-file",
        files.path("image.keys"))
      #expect(other.output.contains("cached photo         not on this machine\n"), "\(other.output)")
    }
  }

  @Test("where it cannot be looked for, that is said with the reason, and the person is erased")
  func unknown() async throws {
    try await with { (queue, control, files) async throws in
      try await queue.addUser("u3")
      try await queue.execute("UPDATE analysis.profile SET photo_url = 'https://a.example.org/'")
      #expect(await control("keys", "new", "--key-file", files.path("other.keys")).code == .done)
      let before = try files.names(in: "photos")
      for (user, options, words) in [
        ("u1", [], "no folder is named (--url-cache)"),
        ("u2", ["--url-cache", files.path("photos")], "no key file is named (--key-file)"),
        (
          "u3", ["--url-cache", files.path("photos"), "--key-file", files.path("other.keys")],
          "its names cannot be read with this key file"
        ),
      ] {
        let erased = await control.run(["erase", "--user", user, "--confirm", user, "--json"] + options)
        #expect(erased.code == .done, "\(erased.messages)")
        #expect(
          erased.output.contains(
            #""cached_photo":"not_looked_for","cached_photo_reason":"\#(words)""#), "\(erased.output)")
        #expect(try files.names(in: "photos") == before)
      }
    }
  }

  @Test("a folder that is open to others keeps nobody from being erased, and what is in it is left")
  func openFolder() async throws {
    try await with { (_, control, files) async throws in
      chmod(files.path("photos"), 0o750)
      let before = try files.names(in: "photos")
      let erased = await control(
        "erase", "--user", "u1", "--confirm", "u1", "--url-cache", files.path("photos"), "--key-file",
        files.path("image.keys"),
        "--receipt", files.path("u1.json"))
      #expect(erased.code == .done, "\(erased.messages)")
      #expect(erased.output.contains("cached photo         not looked for: "), "\(erased.output)")
      #expect(try files.text("u1.json").contains("chmod 700"))
      #expect(try files.names(in: "photos") == before)
    }
  }

  @Test("of somebody who had none, and while jobs are open, nothing is said of it")
  func none() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["p1.png": TinyPicture.png(grey: 1)])
      try await queue.execute("UPDATE analysis.profile SET photo_url = 'https://a.example.org/'")
      #expect(
        await queue.control("submit", "--user", "u1", "--type", "ear", files.path("p1.png")).code == .done)
      let open = await queue.control("erase", "--user", "u1", "--confirm", "u1", "--json")
      #expect(open.code == .tryLater && open.output.contains(#""cached_photo":null"#), "\(open.output)")
      try await queue.execute("UPDATE analysis.profile SET photo_url = NULL")
      let erased = await queue.control("erase", "--user", "u1", "--confirm", "u1", "--cancel-open")
      #expect(erased.code == .done && !erased.output.contains("cached"), "\(erased.output)")
    }
  }
}
