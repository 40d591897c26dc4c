import Foundation
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Support

/// Who receives ended jobs: it remembers what came, and answers as a test wants.
final class WebhookReceiver: Sendable {
  /// A message as it came.
  struct Message: Sendable {
    let number: Int
    let request: RawConnection.Received

    var id: String { request.headers["webhook-id"] ?? "" }
    var text: String { String(decoding: request.body, as: UTF8.self) }

    /// A field of the body that is a text.
    subscript(_ field: String) -> String? {
      (try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])?[field] as? String
    }
  }

  private let record: Record
  private let server: RawServer

  private final class Record: Sendable {
    let messages = Mutex<[Message]>([])
  }

  /// - Parameter answer: Answers a message; it may wait, for each connection has a thread of its own.
  init(
    _ answer: @escaping @Sendable (Message) throws -> (status: Int, headers: [String]) = { _ in (200, []) }
  )
    throws
  {
    let record = Record()
    self.record = record
    server = try RawServer { connection in
      while let request = try connection.readRequest() {
        let message = record.messages.withLock { messages in
          let message = Message(number: messages.count + 1, request: request)
          messages.append(message)
          return message
        }
        let (status, headers) = try answer(message)
        try connection.respond(status, "", headers: headers)
      }
    }
  }

  deinit { server.stop() }

  var messages: [Message] { record.messages.withLock { $0 } }
  var url: String { server.url + "/ended?token=confided" }
}

extension QueueFixture {
  /// Adds a webhook of a user, or of a clinic; answers its number and its secret.
  func addWebhook(
    _ url: String, user: String? = nil, clinic: String? = nil, under ring: KeyRing, findings: Bool = false
  ) async throws -> (id: WebhookID, secret: String) {
    let secret = try WebhookSecret()
    let owner: Webhook.Owner = if let clinic { .clinic(clinic) } else { .user(user ?? "clinic") }
    let id = try await WebhookDirectory(pool).add(
      url, of: owner, secret: try secret.encrypted(for: url, keys: ring), hasFindings: findings,
      allowsPlainHTTP: true, by: nil)
    return (id, secret.text)
  }

  /// Lets all that is to be sent later be due now.
  func hurry() async throws {
    try await execute(
      """
      UPDATE analysis.webhook_event SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL;
      UPDATE analysis.webhook SET retry_at = now() - interval '1 second' WHERE retry_at IS NOT NULL;
      """)
  }
}
