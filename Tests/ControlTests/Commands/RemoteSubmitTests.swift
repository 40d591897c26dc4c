import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("analysisctl submit --url, against a server")
struct RemoteSubmitTests {
  @Test("files first, then addresses; those refused by their own reason, and the others go on, code 4")
  func mixed() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let (server, files) = (try ImageServer(), try TemporaryFolder(["p1.png": TinyPicture.png(grey: 1)]))
      var control = queue.control
      control.network = server.network
      let urls = [
        server.url("/2.png?key=SECRET"), server.url("/missing.png?key=SECRET"), server.url("/text.png"),
        server.url("/large.png"), server.url("/moved.png"), "http://x.private:\(server.host.suffix(5))/3.png",
        "https://evil.org/private/SECRET.png", "nonsense SECRET", server.url("/4.png"),
      ]
      let ran = await control.run(
        ["submit", "--user", "u1", "--type", "ear", "--json", "--url-hosts", server.host]
          + ["--url-hosts", "x.private:\(server.host.suffix(5))"] + urls.flatMap { ["--url", $0] }
          + [files.path("p1.png")])
      #expect(ran.code == .refused)
      let outcomes = ran.lines.map { line in
        line.firstMatch(of: #/"outcome":"(\w+)".*"reason":"?(\w+)/#).map { "\($0.1) \($0.2)" } ?? line
      }
      #expect(
        outcomes == [
          "created null", "created null", "refused url_bad_status", "refused unsupported_format",
          "refused url_too_large", "refused url_redirected", "refused url_address_refused",
          "refused url_not_allowed", "refused url_invalid", "created null",
        ])
      #expect(ran.lines[1].hasPrefix(#"{"file":"URL 1 (img.example.org)""#))
      #expect(ran.lines[8].hasPrefix(#"{"file":"URL 8""#))
      #expect(!(ran.output + ran.messages).contains("SECRET") && !ran.output.contains("/private/"))
      #expect(
        try await queue.texts("SELECT source_name FROM analysis.job ORDER BY id")
          == ["p1.png", "img.example.org", "img.example.org"])
    }
  }

  @Test("a repeat under the same key submits only what is missing, and a single address has the key itself")
  func keys() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let server = try ImageServer()
      var control = queue.control
      control.network = server.network
      let submit = [
        "submit", "--user", "u1", "--type", "throat", "--url-hosts", server.host, "--key",
      ]
      let two = ["--url", server.url("/1.png"), "--url", server.url("/2.png")]
      #expect(await control.run(submit + ["ward"] + two).code == .done)
      let again = await control.run(submit + ["ward"] + two + ["--url", server.url("/3.png")])
      #expect(again.messages == "1 submitted, 2 submitted before.\n")
      let single = await control.run(submit + ["mine", "--json", "--url", server.url("/4.png")])
      #expect(single.output.contains(#""key":"mine""#))
      // Another picture at the same address under the same key is another picture.
      let other = await control.run(submit + ["mine", "--url", server.url("/5.png")])
      #expect(other.code == .refused)
    }
  }

  @Test("a manifest's rows by URL, beside files, named by their lines")
  func manifest() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let server = try ImageServer()
      let files = try TemporaryFolder(["p1.png": TinyPicture.png(grey: 1)])
      try files.write(
        "file,url,key\np1.png,,\n,\(server.url("/2.png?SECRET")),mine\n,https://evil.org/SECRET,\np1.png,x,\n",
        to: "batch.csv")
      try files.write("url-hosts = other.example.org, \(server.host)\n", to: "ctl.conf")
      var control = queue.control
      control.network = server.network
      let submit = [
        "submit", "--user", "u1", "--type", "throat", "--manifest", files.path("batch.csv"), "--json",
      ]
      let ran = await control.run(submit + ["--config", files.path("ctl.conf")])
      #expect(ran.code == .refused)
      #expect(ran.lines.count == 4)
      #expect(ran.lines[0].contains(#""outcome":"created""#))
      #expect(ran.lines[1].contains(#"batch.csv:3 (img.example.org)""#))
      #expect(ran.lines[1].contains(#""outcome":"created""#) && ran.lines[1].contains(#""key":"mine""#))
      #expect(ran.lines[2].contains(#""reason":"url_not_allowed""#))
      #expect(ran.lines[3].contains(#""reason":"manifest_row""#))
      #expect(!(ran.output + ran.messages).contains("SECRET"))

      // Without hosts nothing of it is submitted.
      control.runKey = "another"
      let off = await control.run(submit)
      #expect(off.code == .usage)
      #expect(off.output == "")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 2)
    }
  }

  @Test("an address that stands there twice is fetched once, and submitted twice where that is asked for")
  func twice() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let server = try ImageServer()
      var control = queue.control
      control.network = server.network
      control.environment["ANALYSIS_URL_HOSTS"] = "other.example.org,\(server.host)"
      let ran = await control.run(
        ["submit", "--user", "u1", "--type", "ear", "--again"]
          + (0..<5).flatMap { _ in ["--url", server.url("/1.png")] })
      #expect(ran.code == .done)
      #expect(server.targets == ["/1.png"])
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 5)
    }
  }

  @Test("what was fetched comes from the cache's folder the next time, which tells nothing")
  func cached() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let (server, files) = (try ImageServer(), try TemporaryFolder())
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      for key in ["a", "b"] {
        let ran = await control(
          "submit", "--user", "u1", "--type", "ear", "--url-hosts", server.host, "--key", key, "--again",
          "--url-cache",
          files.path("photos"), "--key-file", files.path("image.keys"), "--url", server.url("/1.png?SECRET"))
        #expect(ran.code == .done, "\(ran.messages)")
        #expect(!ran.messages.contains("not kept"))
      }
      #expect(server.targets.count == 1)
      #expect(try files.names == ["image.keys", "photos"])
      let kept = try files.names(in: "photos").map { try files.bytes("photos/\($0)") }
      #expect(kept.count == 2)
      for bytes in kept {
        #expect(bytes.firstRange(of: Array("PNG".utf8)) == nil)
        #expect(bytes.firstRange(of: Array("SECRET".utf8)) == nil)
      }
      // What is submitted is under the same key as what is kept.
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.image WHERE encrypted_by IS NOT NULL")
          == 1)
    }
  }

  @Test("without a key file nothing is kept in a folder, which is told once where something is fetched")
  func keyless() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let (server, files) = (try ImageServer(), try TemporaryFolder(["p1.png": TinyPicture.png(grey: 9)]))
      var control = queue.control
      control.network = server.network
      let submit = [
        "submit", "--user", "u1", "--type", "ear", "--url-hosts", server.host, "--url-cache",
        files.path("photos"),
      ]
      let words =
        "Images by URL are not kept in \(files.path("photos")): no key file is named to encrypt them with (--key-file)."
      for key in ["a", "b"] {
        let ran = await control.run(
          submit + ["--key", key, "--again", "--url", server.url("/1.png"), "--url", server.url("/2.png")])
        #expect(ran.code == .done, "\(ran.messages)")
        #expect(ran.messages.split(separator: "\n").filter { $0 == words }.count == 1, "\(ran.messages)")
      }
      #expect(server.targets.count == 4)
      let file = await control.run(submit + [files.path("p1.png")])
      #expect(file.code == .done)
      #expect(!file.messages.contains("not kept"))
      #expect(try files.names == ["p1.png"])
    }
  }

  @Test("a cache's folder that others may look into is refused before anything is submitted, code 77")
  func openFolder() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let (server, files) = (try ImageServer(), try TemporaryFolder(["photos/x": []]))
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      let ran = await control(
        "submit", "--user", "u1", "--type", "ear", "--url-hosts", server.host, "--url-cache",
        files.path("photos"),
        "--key-file", files.path("image.keys"), "--url", server.url("/1.png"))
      #expect(ran.code == .permission)
      #expect(ran.messages.contains("run 'chmod 700' on it"))
      #expect(server.targets.isEmpty)
    }
  }
}
