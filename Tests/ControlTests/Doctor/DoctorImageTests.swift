import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Queue

@Suite("doctor sees how images are stored")
struct DoctorImageTests {
  private func pictures(_ files: TemporaryFolder, _ count: Int) throws {
    for index in 0..<count {
      try files.write(TinyPicture.png(grey: UInt8(index)), to: "photos/p\(index).png")
    }
  }

  @Test("in plaintext is as it should be where there are no keys, and a warning where there are")
  func clear() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      try pictures(files, 2)
      #expect(
        await queue.control("submit", "--user", "u1", "--type", "ear", files.path("photos")).code == .done)
      let without = try await queue.control.doctor().found
      #expect(without.state("images.stored") == "ok")
      #expect(without.of("images.stored")[0].seen == "0 images are encrypted, 2 are in plaintext")
      #expect(without.of("images.keys").isEmpty && without.of("images.missing_keys").isEmpty)
      _ = try KeyFile.addKey(files.path("image.keys"), at: 0)
      let with = try await queue.control.doctor("--key-file", files.path("image.keys")).found
      #expect(with.state("images.stored") == "warning" && with.state("images.keys") == "ok")
      withExtendedLifetime(files) {}
    }
  }

  @Test("under a key that the file lacks is wrong, and named; without a file it is not known")
  func missing() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      try pictures(files, 2)
      let (used, other) = (files.path("used.keys"), files.path("other.keys"))
      let id = try KeyFile.addKey(used, at: 0).currentID
      _ = try KeyFile.addKey(other, at: 0)
      let submit = ["submit", "--user", "u1", "--type", "ear", "--key-file", used, files.path("photos")]
      #expect(await queue.control.run(submit).code == .done)
      let good = try await queue.control.doctor("--key-file", used).found
      #expect(good.state("images.missing_keys") == "ok" && good.state("images.stored") == "ok")
      let (lacking, code) = try await queue.control.doctor("--key-file", other)
      #expect(lacking.state("images.missing_keys") == "wrong" && code == .jobFailed)
      #expect(lacking.of("images.missing_keys")[0].seen.hasPrefix("2 images are under key \(id)"))
      #expect(try await queue.control.doctor().found.state("images.missing_keys") == "skipped")
    }
  }

  @Test("takes the key file of a worker's configuration, and says what is wrong with it")
  func workersFile() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      try files.write("nothing\n", to: "image.keys")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: files.path("image.keys"))
      let database = queue.control.environment["ANALYSIS_DATABASE"] ?? ""
      let rest = "endpoint = http://127.0.0.1:9\ndatabase = \"\(database)\"\n"
      try files.write("key-file = \(files.path("image.keys"))\n" + rest, to: "worker.conf")
      let found = try await queue.control.doctor("--worker-config", files.path("worker.conf")).found
      #expect(found.state("images.keys") == "wrong")
      #expect(found.of("images.keys")[0].seen.contains("image.keys:1 "))
      try files.write("key-file = image-keys\n" + rest, to: "worker.conf")
      let managed = try await queue.control.doctor("--worker-config", files.path("worker.conf")).found
      #expect(managed.state("images.keys") == "skipped")
    }
  }
}
