import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Counts and limits of ours and of the backend")
struct CountTests {
  @Test("The backend's own count is not ours: the usage report shows what was analysed here")
  func ownCount() async throws {
    try await AccountInstallation.with(jobs: 3) { installation in
      // Its log-in says 3 of an account that has made none, and its limit is reached after two.
      let backend = try Backend(
        { .analysis($0) },
        login: { _ in
          Backend.Reply(
            body: """
              {"token":"\(AccountInstallation.token)","user":{"id":"u-7","email":"\(AccountInstallation.email)","name":"Service",
               "subscription":"free","analysisCount":999,"analysisLimit":null}}
              """)
        })
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let report = try Executable(
        "analysisctl", ["report", "usage", "--format", "csv"], environment: installation.queue.environment)
      let reported = await report.ended()
      #expect(reported.code == 0, "\(reported.messages)")
      let lines = reported.output.components(separatedBy: "\r\n").map { $0.components(separatedBy: ",") }
      let column = try #require(lines[0].firstIndex(of: "used"))
      #expect(lines[1][column] == "3", "\(reported.output)")
    }
  }

  @Test("A limit that falls from 5 to 2 holds from its moment on: what was taken is kept, nothing more is")
  func limitFalls() async throws {
    try await AccountInstallation.with { installation in
      let queue = installation.queue
      try await queue.addUser("free-user", plan: "free")
      let picture = try await drawnPicture()
      #expect(try await queue.submit(4, user: "free-user", image: picture).count == 4)
      let set = try Executable(
        "analysisctl", ["plans", "set-limit", "free", "2"], environment: queue.environment)
      let ended = await set.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      let further = Submission(user: "free-user", kind: .throat, image: picture)
      #expect(try await queue.submit([further]).compactMap(\.job).isEmpty)
      let backend = try AccountInstallation.backend()
      try await installation.drain(backend.url)
      #expect(try await queue.results == 5)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 5)
      // And rises again.
      let raise = try Executable(
        "analysisctl", ["plans", "set-limit", "free", "5"], environment: queue.environment)
      #expect(await raise.ended().code == 0)
      #expect(try await queue.submit([further, further]).compactMap(\.job).count == 1)
      try await installation.drain(backend.url)
    }
  }

  @Test(
    "The worker never saves an analysis at the backend, in either dialect", arguments: ["guide", "server"])
  func neverSaves(dialect: String) async throws {
    try await AccountInstallation.with(jobs: 2) { installation in
      let backend = try AccountInstallation.backend()
      let ended = try await installation.drain(backend.url, ["--dialect", dialect])
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 2)
      #expect(backend.accountCalls.map(\.target) == ["/api/login"])
    }
  }
}
