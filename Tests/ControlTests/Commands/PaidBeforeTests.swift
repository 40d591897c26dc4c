import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("Nobody pays for a picture twice without being asked")
struct PaidBeforeTests {
  /// A queue in which three pictures of `u1` were submitted under the key `first`, and a folder with these and a new one.
  private func withPaid(
    _ body: (_ queue: QueueFixture, _ submit: [String]) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder()
      for index in 1...3 { try files.write(TinyPicture.png(grey: UInt8(index * 10)), to: "p\(index).png") }
      let submit = ["submit", "--user", "u1", "--type", "throat", files.path]
      #expect(await queue.control.run(submit + ["--key", "first"]).code == .done)
      try files.write(TinyPicture.png(grey: 200), to: "new.png")
      try await body(queue, submit)
    }
  }

  private func jobs(_ queue: QueueFixture) async throws -> Int { try await queue.count("job") }

  @Test(
    "in a script nothing is submitted and the code is 9; --again pays twice, --only-new leaves out what is paid for"
  )
  func scripts() async throws {
    try await withPaid { (queue, submit) async throws in
      let refused = await queue.control.run(submit)
      #expect(refused.code == .paidBefore)
      #expect(
        refused.messages.contains(
          "3 of 4 were submitted this month, or within a day, under another key, and are paid for."))
      #expect(refused.messages.contains("--again"))
      #expect(try await jobs(queue) == 3)
      let new = await queue.control.run(submit + ["--only-new"])
      #expect(new.code == .done && new.messages.hasSuffix("1 submitted.\n"), "\(new.messages)")
      #expect(try await jobs(queue) == 4)
      #expect(await queue.control.run(submit + ["--only-new", "--key", "third"]).code == .nothingToDo)
      #expect(await queue.control.run(submit + ["--again", "--key", "third"]).code == .done)
      #expect(try await jobs(queue) == 8)
      #expect(await queue.control.run(submit + ["--again", "--only-new"]).code == .usage)
    }
  }

  @Test(
    "a picture that is there several times in one run is one job for each user and type, unless asked otherwise"
  )
  func doubles() async throws {
    try await withQueue { (queue) async throws in
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      let files = try TemporaryFolder()
      for (name, grey) in [("a", 10), ("b", 20), ("c", 10), ("d", 10)] as [(String, UInt8)] {
        try files.write(TinyPicture.png(grey: grey, saying: name), to: "\(name).png")
      }
      let submit = ["submit", "--user", "u1", "--type", "throat"]
      let ran = await queue.control.run(submit + ["--key", "one", "--json", files.path])
      #expect(ran.code == .done)
      #expect(
        ran.messages.contains("2 submitted, 2 the same picture as another of this run, and not paid again."),
        "\(ran.messages)")
      let told = ran.lines.compactMap { line in
        line.firstMatch(of: /"outcome":"(\w+)","job":"(\d+)"/).map { ("\($0.1)", "\($0.2)") }
      }
      #expect(told.map(\.0) == ["created", "created", "duplicate", "duplicate"])
      #expect(told.count == 4 && told[2].1 == told[0].1 && told[3].1 == told[0].1)
      #expect(try await jobs(queue) == 2)
      // The same run again; with what is paid for left out; for another user and type; and as it was meant.
      #expect(await queue.control.run(submit + ["--key", "one", files.path]).code == .done)
      #expect(try await jobs(queue) == 2)
      #expect(await queue.control.run(submit + ["--only-new", files.path]).code == .nothingToDo)
      try files.write(
        "file,user,type\na.png,u1,ear\nc.png,u1,ear\nc.png,u2,ear\na.png,u2,ear\n", to: "list.csv")
      let manifest = ["submit", "--manifest", files.path("list.csv")]
      #expect(await queue.control.run(manifest + ["--only-new"]).code == .done)
      #expect(try await jobs(queue) == 4)
      #expect(await queue.control.run(submit + ["--again", "--key", "two", files.path]).code == .done)
      #expect(try await jobs(queue) == 8)
    }
  }

  @Test("one whose double is refused is submitted itself")
  func refusedDouble() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["a.png": TinyPicture.png()])
      try files.write(
        "file,user,type,expires\na.png,u1,ear,2020-01-01T00:00:00Z\na.png,u1,ear,\na.png,u1,ear,\n",
        to: "list.csv")
      let ran = await queue.control.run(["submit", "--manifest", files.path("list.csv")])
      #expect(
        ran.code == .refused && ran.messages.contains("1 submitted, 1 the same picture"), "\(ran.messages)")
      #expect(try await jobs(queue) == 1)
    }
  }

  @Test("on a terminal it is asked", arguments: [("y", 7), ("n", 3)])
  func terminal(typed: String, expected: Int) async throws {
    try await withPaid { (queue, submit) async throws in
      var control = queue.control
      control.typed = typed
      let ran = await control.run(submit)
      #expect(ran.code == (typed == "y" ? .done : .paidBefore))
      #expect(ran.messages.contains("Submit all, and pay for them twice? [y/N]"))
      #expect(try await jobs(queue) == expected)
    }
  }

  @Test(
    "a repeat under the same key is no second payment, and neither is another type or another user's picture")
  func others() async throws {
    try await withPaid { (queue, submit) async throws in
      let again = await queue.control.run(submit + ["--key", "first"])
      #expect(again.code == .done && again.messages == "1 submitted, 3 submitted before.\n")
      let ear = submit.map { $0 == "throat" ? "ear" : $0 }
      #expect(await queue.control.run(ear).code == .done)
      try await queue.addUser("u2")
      let other = submit.map { $0 == "u1" ? "u2" : $0 }
      #expect(await queue.control.run(other).code == .done)
    }
  }

  @Test("an address is fetched once, so what it shows is not asked about, though its picture is paid for")
  func addresses() async throws {
    try await withPaid { (queue, _) async throws in
      let server = try ImageServer()
      var control = queue.control
      control.network = server.network
      let submit = [
        "submit", "--user", "u1", "--type", "throat", "--url-hosts", server.host, "--url",
        server.url("/1.png"),
      ]
      #expect(await control.run(submit + ["--key", "one"]).code == .done)
      let again = await control.run(submit + ["--key", "two"])
      #expect(again.code == .done && again.messages == "1 submitted.\n", "\(again.messages)")
      #expect(try await jobs(queue) == 5)
    }
  }

  @Test("pictures of jobs that died or were cancelled are free again")
  func free() async throws {
    try await withPaid { (queue, submit) async throws in
      for job in try await queue.claimJobs(count: 2) { try await queue.kill(job) }
      #expect(await queue.control("jobs", "cancel", "--user", "u1").code == .done)
      let ran = await queue.control.run(submit)
      #expect(ran.code == .done && ran.messages.hasSuffix("4 submitted.\n"), "\(ran.messages)")
    }
  }
}
