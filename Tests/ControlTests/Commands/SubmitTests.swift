import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("analysisctl submit, against a server")
struct SubmitTests {
  private func pictures(_ count: Int) throws -> TemporaryFolder {
    let files = try TemporaryFolder()
    for index in 1...count { try files.write(TinyPicture.png(grey: UInt8(index * 10)), to: "p\(index).png") }
    return files
  }

  @Test("a folder of good and bad files: the good are submitted in order, the bad refused by name, code 4")
  func mixed() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(2)
      try files.write("no picture", to: "a-text.jpg")
      try files.write("", to: "empty.png")
      try files.write("not looked at", to: "notes.txt")
      try files.write("not looked at", to: "below/inner.jpg")
      let ran = await queue.control("submit", "--user", "u1", "--type", "ear", "--verbose", files.path)
      #expect(ran.code == .refused)
      let jobs = try await queue.texts("SELECT id::text FROM analysis.job ORDER BY id")
      #expect(
        ran.lines == [
          "submitted \(jobs[0]) \(files.path("p1.png"))", "submitted \(jobs[1]) \(files.path("p2.png"))",
          "B1: 2 jobs",
        ])
      #expect(ran.messages.contains("refused \(files.path("a-text.jpg")): "))
      #expect(ran.messages.contains("refused \(files.path("empty.png")): The file is empty."))
      #expect(ran.messages.contains("\(files.path): left out the folders in it: below\n"))
      #expect(ran.messages.contains("\(files.path): left out files not called like an image: notes.txt\n"))
      #expect(ran.messages.hasSuffix("2 submitted, 2 refused.\n"))
      #expect(
        try await queue.texts("SELECT source_name FROM analysis.job ORDER BY id") == ["p1.png", "p2.png"])
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job WHERE kind = 2") == 2)
    }
  }

  @Test("images follow the rules of their type, one that is submitted for both types too")
  func rulesOfTypes() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let noise = TinyPicture.noise(side: 200)
      let files = try TemporaryFolder(["p.png": TinyPicture.png(saying: "Taken by Ada"), "noise.png": noise])
      try files.write(
        "file,type\np.png,throat\nnoise.png,throat\np.png,ear\nnoise.png,ear\n", to: "batch.csv")
      func set(_ name: String, _ value: String) async {
        #expect(await queue.control("settings", "set", name, value, "--yes").code == .done)
      }
      // By a login that may do nothing but submit.
      func submitted(_ key: String) async throws -> [String: [UInt8]] {
        let ran = try await withLoginRole(on: queue.pool, in: ["analysis_submitter"]) { login in
          await queue.acting(as: login).control(
            "submit", "--user", "u1", "--manifest", files.path("batch.csv"), "--key", key, "--again")
        }
        #expect(ran.code == .done, "\(ran.messages)")
        let rows = try await queue.pool.query(
          """
          SELECT j.source_name || ' ' || j.kind AS name, i.bytes
          FROM analysis.job j
          JOIN analysis.image i ON i.shard = j.shard AND i.period = j.image_period AND i.id = j.image_id
          ORDER BY j.id DESC LIMIT 4
          """)
        return try Dictionary(
          uniqueKeysWithValues: rows.map { (try $0.string("name"), try $0.bytes("bytes")) })
      }
      let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF]

      await set("png_as_is_throat", "yes")
      await set("image_bytes_ear", "10000")
      let first = try await submitted("first")
      #expect(first["p.png 1"] == TinyPicture.png() && first["noise.png 1"] == noise)
      #expect(first["p.png 2"]?.starts(with: jpeg) == true)
      #expect(first["noise.png 2"]?.starts(with: jpeg) == true)
      #expect((1...10_000).contains(first["noise.png 2"]?.count ?? 0))

      // A PNG with too many bytes is none, also where PNGs are kept.
      await set("image_bytes_throat", "\(noise.count - 1)")
      await set("image_bytes_ear", "\(noise.count)")
      await set("png_as_is_ear", "yes")
      let second = try await submitted("second")
      #expect(second["p.png 1"] == TinyPicture.png() && second["p.png 2"] == TinyPicture.png())
      #expect(second["noise.png 1"]?.starts(with: jpeg) == true)
      #expect((10_001..<noise.count).contains(second["noise.png 1"]?.count ?? 0))
      #expect(second["noise.png 2"] == noise)
    }
  }

  @Test("seven images under a limit of five: the first five in the order given, the rest by name, code 3")
  func quota() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "free")
      let files = try pictures(7)
      let order = ["p7", "p3", "p1", "p2", "p6", "p5", "p4"].map { files.path("\($0).png") }
      let ran = await queue.control.run(["submit", "--user", "u1", "--type", "throat", "--verbose"] + order)
      #expect(ran.code == .quotaRefused)
      #expect(
        try await queue.texts("SELECT source_name FROM analysis.job ORDER BY id")
          == ["p7.png", "p3.png", "p1.png", "p2.png", "p6.png"])
      #expect(ran.lines.count == 6)
      for file in order.suffix(2) { #expect(ran.messages.contains("refused \(file): User u1 has reached")) }
      #expect(ran.messages.hasSuffix("5 submitted, 2 refused by the monthly limit.\n"))
    }
  }

  @Test("a bad file beside a reached limit is code 4")
  func quotaAndBad() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "free")
      let files = try pictures(6)
      try files.write("no picture", to: "zzz.jpg")
      let ran = await queue.control("submit", "--user", "u1", "--type", "throat", files.path)
      #expect(ran.code == .refused)
      #expect(ran.messages.hasSuffix("5 submitted, 1 refused by the monthly limit, 1 refused.\n"))
    }
  }

  @Test("a repeat under the same key submits only what is missing; another run submits all again")
  func repeated() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(3)
      let submit = ["submit", "--user", "u1", "--type", "throat", files.path]
      #expect(await queue.control.run(submit + ["--key", "ward"]).code == .done)
      try files.write(TinyPicture.png(grey: 5), to: "p0.png")
      let again = await queue.control.run(submit + ["--key", "ward"])
      #expect(again.code == .done)
      #expect(again.messages == "1 submitted, 3 submitted before.\n")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 4)

      var other = queue.control
      other.runKey = "another"
      #expect(await other.run(submit + ["--again"]).messages == "4 submitted.\n")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 8)
    }
  }

  @Test("the only image has the key itself, and the same key with another image is refused with code 4")
  func singleKey() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(2)
      let submit = ["submit", "--user", "u1", "--type", "throat", "--key", "k1", "--json"]
      let first = await queue.control.run(submit + [files.path("p1.png")])
      #expect(first.output.contains(#""outcome":"created""#) && first.output.contains(#""key":"k1""#))
      let second = await queue.control.run(submit + [files.path("p2.png")])
      #expect(second.code == .refused)
      #expect(second.output.contains(#""reason":"key_conflict""#))
    }
  }

  @Test("a manifest: each row as it says, from the manifest's own folder; a bad row by its line")
  func manifest() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      try await queue.addUser("u2")
      let files = try pictures(2)
      try files.write(
        "file,user,type,priority,at,key\r\np1.png,,ear,urgent,,mine\r\np2.png,u2,,,2099-01-01T00:00:00Z,\r\n"
          + "p1.png,u2,nose,,,\r\nmissing.png,,,,,\r\np1.png,nobody,,,,\r\n", to: "batch.csv")
      let ran = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--manifest", files.path("batch.csv"), "--json")
      #expect(ran.code == .unreadableInput)
      #expect(ran.lines.count == 5)
      #expect(ran.lines[0].contains(#""user":"u1","type":"ear","priority":"urgent","outcome":"created""#))
      #expect(ran.lines[0].contains(#""key":"mine""#))
      #expect(ran.lines[1].contains(#""user":"u2","type":"throat""#))
      #expect(ran.lines[1].contains(#""reason":"no_partition""#))
      #expect(ran.lines[2].contains("batch.csv:4") && ran.lines[2].contains(#""reason":"manifest_row""#))
      #expect(ran.lines[3].contains("No such file or directory"))
      #expect(ran.lines[4].contains(#""reason":"unknown_user""#))
    }
  }

  @Test("standard input as an image, and as a manifest")
  func standardInput() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(1)
      var image = queue.control
      image.input = TinyPicture.png(grey: 99)
      #expect(await image("submit", "--user", "u1", "--type", "throat", "-").code == .done)
      var manifest = queue.control
      manifest.runKey = "second"
      manifest.input = Array(#"{"file": "\#(files.path("p1.png"))"}"#.utf8)
      let ran = await manifest("submit", "--user", "u1", "--type", "throat", "--manifest", "-")
      #expect(ran.code == .done)
      #expect(
        try await queue.texts("SELECT source_name FROM analysis.job ORDER BY id")
          == ["standard input", "p1.png"])
    }
  }

  @Test("an empty folder is code 5")
  func nothing() async throws {
    let files = try TemporaryFolder()
    let ran = await Control(database: "host=/nonexistent")(
      "submit", "--user", "u", "--type", "ear", files.path)
    #expect(ran.code == .nothingToDo)
    #expect(ran.messages == "There is nothing to submit.\n")
  }

  @Test("images of more than one chunk are all submitted in their order")
  func chunks() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let file = try pictures(1)
      let names = (1...450).map { _ in file.path("p1.png") }
      let ran = await queue.control.run(
        ["submit", "--user", "u1", "--type", "throat", "--json", "--again"] + names)
      #expect(ran.code == .done)
      let told = ran.lines.compactMap { line in
        line.firstRange(of: #/"job":"(\d+)"/#).map { String(line[$0]) }
      }
      let stored = try await queue.texts(
        "SELECT '\"job\":\"' || id || '\"' FROM analysis.job ORDER BY id")
      #expect(told.count == 450)
      #expect(told == stored)
    }
  }

  @Test("an output that takes no more does not stop the submitting; only a reader that is gone is no error")
  func brokenOutput() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(3)
      let submit = ["submit", "--user", "u1", "--type", "throat", files.path]
      Signals.ignoreBrokenPipe()
      let (pipe, full) = (Pipe(), try FileHandle(forWritingTo: URL(filePath: "/dev/full")))
      try pipe.fileHandleForReading.close()
      var control = queue.control
      control.brokenOutput = DescriptorWriter(pipe.fileHandleForWriting.fileDescriptor)
      #expect(await control.run(submit).code == .done)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 3)
      control.brokenOutput = DescriptorWriter(full.fileDescriptor)
      control.runKey = "another"
      #expect(await control.run(submit + ["--again"]).code == .tryLater)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 6)
      withExtendedLifetime((pipe, full)) {}
    }
  }

  @Test("where the pictures are scaled down, and when they run and expire, is told to the queue")
  func details() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(1)
      let soon = Date(timeIntervalSinceNow: 3600).formatted(.iso8601)
      let later = Date(timeIntervalSinceNow: 7200).formatted(.iso8601)
      let ran = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--priority", "bulk", "--at", soon, "--expires", later,
        "--max-dimension", "16", files.path("p1.png"))
      #expect(ran.code == .done)
      #expect(
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.job
          WHERE lane = 6 AND run_at = '\(soon)'::timestamptz AND expires_at = '\(later)'::timestamptz
          """) == 1)
    }
  }
}
