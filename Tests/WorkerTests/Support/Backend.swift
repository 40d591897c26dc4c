import Foundation
import Synchronization
import TestSupport

/// An analysis backend whose answers a test decides, over real connections, and which remembers what it was
/// asked.
final class Backend: Sendable {
  struct Reply: Sendable {
    var status = 200
    var body = ""
    var headers: [String] = []
  }

  /// An upload as it came.
  struct Call: Sendable {
    /// Which upload it was, from 1.
    let number: Int
    let request: RawConnection.Received

    var body: String { String(decoding: request.body, as: UTF8.self) }
    var kind: String { body.contains("\r\n\r\near\r\n") ? "ear" : "throat" }
    /// The job, since the key that a repeat sends again is made of its shard and number.
    var job: Int? { request.headers["idempotency-key"]?.split(separator: "-").last.flatMap { Int($0) } }
    var token: String? { request.headers["authorization"] }
  }

  private struct State {
    var calls: [Call] = []
    var logins = 0
    var open = 0
    var mostOpen = 0
  }

  private final class Record: Sendable {
    let state = Mutex(State())
  }

  private let record: Record
  private let server: RawServer

  /// - Parameters:
  ///   - answer: Answers an upload; it may wait, for each connection has a thread of its own.
  ///   - login: Answers a log-in, given its number from 1.
  init(
    _ answer: @escaping @Sendable (Call) throws -> Reply = { .analysis($0) },
    login: @escaping @Sendable (Int) -> Reply = { .token("token-\($0)") }
  ) throws {
    let record = Record()
    self.record = record
    server = try RawServer { connection in
      while let request = try connection.readRequest() {
        guard request.target == "/api/analyze" else {
          let number = record.state.withLock { state in
            state.logins += 1
            return state.logins
          }
          let reply = login(number)
          try connection.respond(reply.status, reply.body, headers: reply.headers)
          continue
        }
        let call = record.state.withLock { state in
          let call = Call(number: state.calls.count + 1, request: request)
          state.calls.append(call)
          state.open += 1
          state.mostOpen = max(state.mostOpen, state.open)
          return call
        }
        let reply = Result { try answer(call) }
        record.state.withLock { $0.open -= 1 }
        try connection.respond(reply.get().status, reply.get().body, headers: reply.get().headers)
      }
    }
  }

  deinit { server.stop() }

  var url: String { server.url }
  var calls: [Call] { record.state.withLock { $0.calls } }
  var logins: Int { record.state.withLock { $0.logins } }
  var mostOpen: Int { record.state.withLock { $0.mostOpen } }
}

extension Backend.Reply {
  /// A finding of confidence 0.83, red, and one of 0.41, yellow.
  static func analysis(_ call: Backend.Call) -> Self {
    Self(
      body: """
        {"id":"a-\(call.job ?? 0)","type":"\(call.kind)","timestamp":"2026-03-22T12:34:56.789Z","error":false,
         "debug_info":{"data_source":"model-v3"},
         "conditions":[
          {"id":"strep_throat","name":"Strep Throat","confidence":0.83,"isPotentiallySerious":true},
          {"id":"tonsillitis","name":"Tonsillitis","confidence":0.41}]}
        """)
  }

  static func failure(_ status: Int, _ code: String, headers: [String] = []) -> Self {
    Self(
      status: status, body: #"{"error":true,"code":"\#(code)","message":"As told."}"#, headers: headers)
  }

  /// A model's failure in the dress of a finding.
  static func analysisError(_ call: Backend.Call) -> Self {
    Self(
      body: """
        {"id":"a-1","type":"\(call.kind)","timestamp":"2026-03-22T12:34:56Z",
         "conditions":[{"id":"analysis_error","name":"Analysis Error","confidence":0}]}
        """)
  }

  static func token(_ token: String) -> Self {
    Self(
      body: """
        {"token":"\(token)","user":{"id":"u-7","email":"service@example.org","name":"Service",
         "subscription":"premium","analysisCount":3,"lastResetDate":"2026-03-01T00:00:00.000Z"}}
        """)
  }
}
