import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("submit --wait --results tells what was found")
struct FindingsTests {
  /// Submits two photos, one of which fails, and answers what the command came to.
  private func ran(
    _ queue: QueueFixture, _ files: TemporaryFolder, as login: String? = nil, _ more: [String]
  ) async throws -> Control.Ran {
    try await queue.addUser("u1")
    for index in 1...2 { try files.write(TinyPicture.png(grey: UInt8(index * 10)), to: "p\(index).png") }
    let control = login.map { queue.acting(as: $0).control } ?? queue.control
    let submit = ["submit", "--user", "u1", "--type", "throat", "--wait", "--reference", "=visit"] + more
    async let ran = control.run(submit + [files.path("p1.png"), files.path("p2.png")])
    var claimed = try await queue.claimJobs()
    try await eventually {
      claimed += try await queue.claimJobs(lease: 2000 + Int64(claimed.count))
      return claimed.count == 2
    }
    try await queue.complete(claimed[0])
    try await queue.kill(claimed[1])
    return await ran
  }

  @Test("each photo's conditions with their bands, by a login that may only submit; and in a file")
  func found() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      try await withLoginRole(on: queue.pool, in: ["analysis_submitter"]) { (login) async throws in
        let ran = try await ran(queue, files, as: login, ["--results", "--out", files.path("results.csv")])
        #expect(ran.code == .jobFailed, "\(ran.messages)")
        #expect(ran.lines.count == 3, "\(ran.output)")
        #expect(ran.lines[0].hasPrefix("succeeded "))
        #expect(ran.lines[0].hasSuffix("\(files.path("p1.png")): Tonsillitis 79% (orange)"))
        #expect(ran.lines[1].hasPrefix("dead "))
        let rows = String(
          decoding: try Data(contentsOf: URL(filePath: files.path("results.csv"))), as: UTF8.self
        )
        .split(separator: "\r\n").map(String.init)
        #expect(
          rows[0] == "file,user,type,reference,job,state,condition,confidence,band,serious,consult")
        #expect(rows.count == 3)
        #expect(rows[1].hasPrefix("\(files.path("p1.png")),u1,throat,'=visit,"))
        #expect(rows[1].contains(",succeeded,Tonsillitis,0.7999,orange,"))
        #expect(rows[2].contains(",dead,,,,,"))
      }
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.audit_entry WHERE action = 'read_result'") == 1)
    }
  }

  @Test("a file that could not be written is reported with what was done, and the command can be repeated")
  func unwritten() async throws {
    try await withQueue { (queue) async throws in
      let files = try TemporaryFolder()
      let ran = try await ran(queue, files, ["--results", "--key", "ward 3", "--out", "/dev/full"])
      #expect(ran.code == .tryLater, "\(ran.messages)")
      #expect(ran.lines.count == 3, "\(ran.output)")
      #expect(
        ran.messages.contains("the images are submitted (B")
          && ran.messages.contains("but what was found is not in the file: "),
        "\(ran.messages)")
      #expect(ran.messages.contains("Run the command again with --key ward 3 "), "\(ran.messages)")
      let again = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--wait", "--reference", "=visit", "--results", "--key",
        "ward 3",
        "--out", files.path("results.csv"), files.path("p1.png"), files.path("p2.png"))
      #expect(again.code == .jobFailed, "\(again.messages)")
      #expect(try files.text("results.csv").contains(",succeeded,Tonsillitis,0.7999,orange,"))
      #expect(try await queue.count("job") == 2)
    }
  }

  @Test("in JSON the analysis is a member of the line")
  func json() async throws {
    try await withQueue { (queue) async throws in
      let ran = try await ran(queue, try TemporaryFolder(), ["--results", "--json"])
      #expect(ran.lines.count == 2)
      #expect(ran.lines[0].contains(#""result":{"analysis":"a-"#))
      #expect(ran.lines[1].contains(#""state":"dead""#) && ran.lines[1].hasSuffix(#""result":null}"#))
    }
  }

  @Test("without --results nothing is read, and of the photos only the failed one has a line")
  func unread() async throws {
    try await withQueue { (queue) async throws in
      let ran = try await ran(queue, try TemporaryFolder(), [])
      #expect(ran.lines.count == 2)
      #expect(ran.lines[0].hasPrefix("dead ") && ran.lines[1].hasPrefix("B"))
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.audit_entry WHERE action = 'read_result'") == 0)
    }
  }

  @Test("the options go together")
  func usage() async {
    for options in [["--results"], ["--wait", "--out", "x.csv"]] {
      let ran = await Control().run(["submit", "--user", "u1", "--type", "ear", "x.png"] + options)
      #expect(ran.code == .usage)
    }
  }
}
