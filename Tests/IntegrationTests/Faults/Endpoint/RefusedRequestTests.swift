import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A backend that will never take the picture")
struct RefusedRequestTests {
  private static func refusal(_ status: Int, _ code: String? = nil) -> Row {
    let field = code.map { "\"code\":\"\($0)\"," } ?? ""
    return Row(
      "\(status) \(code ?? "without a code")", status,
      "{\"error\":true,\"success\":false,\(field)\"message\":\"It is not taken.\",\"error_id\":\"err-77\"}")
  }

  static let rows: [Row] = [
    refusal(400), refusal(413), refusal(415), refusal(422),
    refusal(400, "MISSING_IMAGE"), refusal(400, "INVALID_MODEL_TYPE"), refusal(400, "MISSING_REQUEST_BODY"),
    refusal(400, "INVALID_FIELD_NAME"), refusal(422, "INVALID_IMAGE_FORMAT"), refusal(413, "LIMIT_FILE_SIZE"),
    refusal(400, "LIMIT_FILE_SIZE"),
    refusal(500, "INVALID_IMAGE_FORMAT"),
  ]

  @Test("makes the job dead at once, with its message, and the unit is given back", arguments: rows)
  func permanent(row: Row) async throws {
    try await AccountInstallation.with(maxAttempts: 5) { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["permanent"])
      #expect(attempts.first?.message == "It is not taken.")
      #expect(attempts.first?.errorID == "err-77")
      #expect(
        try await installation.queue.text("SELECT class || ' ' || message FROM analysis.dead")
          == "permanent It is not taken.")
      #expect(try await installation.queue.units == 0)
      #expect(backend.calls.count == 1)
    }
  }

  @Test("with a status of success too, and then its words are not kept")
  func underSuccess() async throws {
    try await AccountInstallation.with(maxAttempts: 5) { installation in
      let backend = try AccountInstallation.backend(Self.refusal(200, "INVALID_IMAGE_FORMAT").answer)
      #expect(try await installation.drain(backend.url).code == 0)
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["permanent"] && attempts.first?.code == "INVALID_IMAGE_FORMAT")
      #expect(
        attempts.first?.message.hasPrefix("The endpoint does not take this request. It had status 200")
          == true)
      #expect(attempts.first?.errorID == nil)
      #expect(try await installation.queue.count("dead WHERE message LIKE '%It is not taken%'") == 0)
      #expect(try await installation.queue.count("dead") == 1)
      #expect(backend.calls.count == 1)
    }
  }

  @Test(
    "as HTML or without a body too, and the dead job still says what happened",
    arguments: [
      Row("HTML", 413, "<html><h1>413 Request Entity Too Large</h1></html>"), Row("nothing", 413),
    ])
  func withoutWords(row: Row) async throws {
    try await AccountInstallation.with { installation in
      let backend = try AccountInstallation.backend(row.answer)
      try await installation.drain(backend.url)
      let attempt = try #require(try await installation.attempts().first)
      #expect(attempt.kind == "permanent" && attempt.status == 413 && !attempt.message.isEmpty)
      #expect(try await installation.queue.count("dead") == 1)
    }
  }

  @Test("one picture's refusal harms none of the others")
  func others() async throws {
    try await AccountInstallation.with(jobs: 30) { installation in
      let victims = Set(installation.jobs.prefix(5).map { Int($0.value) })
      let backend = try AccountInstallation.backend { call in
        victims.contains(call.job ?? 0) ? .failure(422, "INVALID_IMAGE_FORMAT") : .analysis(call)
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 25)
      #expect(try await installation.queue.count("dead") == 5)
      #expect(try await installation.queue.units == 25)
      #expect(backend.calls.count == 30)
    }
  }

  @Test("with an early 413 and a reset while the picture is still being sent is understood")
  func earlyAnswer() async throws {
    let server = try RawServer { connection in
      guard let head = try connection.readHead() else { return }
      #expect(head.target == "/api/analyze")
      try connection.write(
        "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      // What is still on its way meets a closed socket, and the peer a reset. The pause is for the answer to
      // arrive before the reset, which takes with it what was not read; the peer gives no sign of that.
      sleep(5)
      connection.reset()
    }
    defer { server.stop() }
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let image = try await noisyPicture(side: 1200)
      _ = try await installation.queue.submit(1, user: AccountInstallation.user, maxAttempts: 3, image: image)
      let ended = try await installation.drain(server.url, account: false)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.allSatisfy { $0.kind == "permanent" && $0.status == 413 }, "\(attempts)")
      #expect(attempts.count == 2)
      #expect(try await installation.queue.count("dead") == 2)
    }
  }

  @Test("above its 5 MiB is never asked: a larger picture is scaled down before it is sent")
  func aboveLimit() async throws {
    try await AccountInstallation.with { installation in
      let backend = try AccountInstallation.backend { call in
        call.request.body.count >= 5_242_880 ? .failure(413, "LIMIT_FILE_SIZE") : .analysis(call)
      }
      let folder = try await largePicture()
      let submit = try Executable(
        "analysisctl",
        ["submit", "--user", AccountInstallation.user, "--type", "throat", folder.path("large.jpg")],
        environment: installation.queue.environment)
      let submitted = await submit.ended()
      #expect(submitted.code == 0, "\(submitted.messages)")
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 2)
      let largest = try #require(backend.calls.map(\.request.body.count).max())
      #expect(largest > 1_000_000 && largest < 5_242_880)
    }
  }
}
