import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("Thousands of open event streams")
struct ManyStreamTests {
  /// More than two statements ask for at once.
  private static let users = 105
  /// As many as one user may have.
  private static let each = 20

  @Test("Each hears of its own user, others are answered beside them, and a revoked token ends its own")
  func streams() async throws {
    let needed = Self.users * Self.each + 500
    try #require(DescriptorLimit.raise() >= needed, "the limit of open files is too low for this test")
    try await RunningGateway.with(.init(gateway: ["--connections", "6000", "--rate", "0"])) { gateway in
      var tokens: [String] = []
      for number in 1...Self.users { tokens.append(try await gateway.user("user-\(number)")) }
      let streams = try tokens.map { token in
        try (0..<Self.each).map { _ in
          let client = try gateway.client()
          try client.send("GET", "/api/events", headers: ["Authorization": "Bearer \(token)"])
          return client
        }
      }
      for stream in streams.joined() { try stream.expect("id: ") }

      // The first, one between, and the last, which the third statement asks for.
      let active = [0, Self.users / 2, Self.users - 1]
      for user in active {
        let sent = try gateway.upload(TinyPicture.png(grey: UInt8(user)), tokens[user])
        #expect(sent.status == 200, "\(sent.text)")
        let id = try #require(sent.json["id"] as? String)
        for stream in streams[user] { try stream.expect("event: analysis\ndata: {\"id\":\"\(id)\"") }
        #expect(try gateway.ask("GET", "/api/analyses", tokens[user]).text.contains("\"\(id)\""))
      }

      let revoked = 1
      try await gateway.queue.execute(
        """
        UPDATE analysis.user_token t SET revoked_at = clock_timestamp() FROM analysis.account a
        WHERE a.user_id = t.user_id AND a.user_ref = 'user-\(revoked + 1)'
        """)
      for stream in streams[revoked] { #expect(!stream.untilClosed().contains("event:")) }
      // The others go on: one more photo is heard, and nobody heard of another's before.
      let last = Self.users - 2
      let sent = try gateway.upload(TinyPicture.png(grey: 200), tokens[last])
      let id = try #require(sent.json["id"] as? String, "\(sent.text)")
      for stream in streams[last] {
        let heard = try stream.expect("event: analysis\ndata: {\"id\":\"\(id)\"")
        #expect(heard.ranges(of: "event: analysis").count == 1, "\(heard)")
      }
    }
  }
}
