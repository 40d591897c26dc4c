import Foundation
import Synchronization

/// An analysis backend whose answers a test decides, over real connections, and which remembers what it was
/// asked.
public final class Backend: Sendable {
  /// An upload as it came.
  public struct Call: Sendable {
    /// Which upload it was, from 1.
    public let number: Int
    /// The request, whole.
    public let request: RawConnection.Received

    /// The body, as far as it is text.
    public var body: String { String(decoding: request.body, as: UTF8.self) }
    /// What was asked for.
    public var kind: String {
      // The part of the kind comes first; the picture after it is long.
      String(decoding: request.body.prefix(1024), as: UTF8.self).contains("\r\n\r\near\r\n")
        ? "ear" : "throat"
    }
    /// The key that a repeat sends again.
    public var key: String? { request.headers["idempotency-key"] }
    /// The job, since the key is made of its shard and number.
    public var job: Int? { key?.split(separator: "-").last.flatMap { Int($0) } }
    /// The header with the token, as it came.
    public var token: String? { request.headers["authorization"] }
  }

  private struct State {
    var calls: [Call] = []
    var accountCalls: [RawConnection.Received] = []
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
  ///   - login: Answers a log-in or a refresh, given its number from 1 among both.
  ///   - refresh: Answers a refresh, given its number and the request; nil when `login` does.
  ///   - port: The port; a free one when nil.
  public init(
    on port: ReservedPort? = nil,
    _ answer: @escaping @Sendable (Call) throws -> Reply = { .analysis($0) },
    login: @escaping @Sendable (Int) -> Reply = { .token("token-\($0)") },
    refresh: (@Sendable (Int, RawConnection.Received) -> Reply)? = nil
  ) throws {
    let record = Record()
    self.record = record
    server = try RawServer(on: port) { connection in
      while let request = try connection.readRequest() {
        guard request.target == "/api/analyze" else {
          let number = record.state.withLock { state in
            state.logins += 1
            state.accountCalls.append(request)
            return state.logins
          }
          let isRefresh = request.target == "/api/refresh-token"
          let reply = if isRefresh, let refresh { refresh(number, request) } else { login(number) }
          guard try reply.send(on: connection) else { return }
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
        guard try reply.get().send(on: connection) else { return }
      }
    }
  }

  deinit { server.stop() }

  /// Its address, without a slash at its end.
  public var url: String { server.url }
  /// The uploads, in the order in which they came.
  public var calls: [Call] { record.state.withLock { $0.calls } }
  /// What was asked about accounts, in order.
  public var accountCalls: [RawConnection.Received] { record.state.withLock { $0.accountCalls } }
  /// How many log-ins and refreshes there were.
  public var logins: Int { record.state.withLock { $0.logins } }
  /// The most uploads that were open at one time.
  public var mostOpen: Int { record.state.withLock { $0.mostOpen } }
}

extension Backend {
  /// One that holds every upload until the gate is opened for it, and then analyses the picture.
  public convenience init(holding gate: Gate) throws {
    try self.init { call in
      gate.wait()
      return .analysis(call)
    }
  }

  /// What is answered.
  public struct Reply: Sendable {
    /// The status.
    public var status: Int
    /// The body.
    public var body: String
    /// Further header lines, without their ends.
    public var headers: [String]
    private var raw: (@Sendable (RawConnection) throws -> Void)?

    /// An answer with a body of known length, after which the connection stays open.
    public init(status: Int = 200, body: String = "", headers: [String] = []) {
      self.status = status
      self.body = body
      self.headers = headers
    }

    /// Whatever the function writes, or nothing; the connection is closed when it returns.
    public static func raw(_ serve: @escaping @Sendable (RawConnection) throws -> Void) -> Self {
      var reply = Self()
      reply.raw = serve
      return reply
    }

    /// Answers whether the connection goes on.
    func send(on connection: RawConnection) throws -> Bool {
      if let raw {
        try raw(connection)
        return false
      }
      try connection.respond(status, body, headers: headers)
      return true
    }
  }
}

extension Backend.Reply {
  /// A finding of confidence 0.83, red, and one of 0.41, yellow.
  public static func analysis(_ call: Backend.Call) -> Self {
    Self(
      body: """
        {"id":"a-\(call.job ?? 0)","type":"\(call.kind)","timestamp":"2100-03-22T12:34:56.789Z","error":false,
         "debug_info":{"data_source":"model-v3"},
         "conditions":[
          {"id":"strep_throat","name":"Strep Throat","confidence":0.83,"isPotentiallySerious":true},
          {"id":"tonsillitis","name":"Tonsillitis","confidence":0.41}]}
        """)
  }

  /// An error of the backend's own.
  public static func failure(_ status: Int, _ code: String, headers: [String] = []) -> Self {
    Self(
      status: status, body: #"{"error":true,"code":"\#(code)","message":"As told."}"#, headers: headers)
  }

  /// A model's failure in the dress of a finding.
  public static func analysisError(_ call: Backend.Call) -> Self {
    Self(
      body: """
        {"id":"a-1","type":"\(call.kind)","timestamp":"2100-03-22T12:34:56Z",
         "conditions":[{"id":"analysis_error","name":"Analysis Error","confidence":0}]}
        """)
  }

  /// A log-in that succeeds.
  public static func token(_ token: String) -> Self {
    Self(
      body: """
        {"token":"\(token)","user":{"id":"u-7","email":"service@example.org","name":"Service",
         "subscription":"premium","analysisCount":3,"lastResetDate":"2026-03-01T00:00:00.000Z"}}
        """)
  }
}
