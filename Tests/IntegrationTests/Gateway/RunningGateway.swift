import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Images

/// An `analysis-gateway` of the test's own, as a login that may do nothing else, with a worker and an endpoint behind it.
struct RunningGateway {
  let queue: QueueFixture
  let endpoint: RunningEndpoint
  let process: Executable
  let port: UInt16
  /// The conninfo of its login.
  let conninfo: String

  /// Who runs the programs beside it.
  struct Setting {
    var gateway: [String] = []
    var worker: [String]? = ["--notify-ended"]
    var endpoint: [String] = []
  }

  /// Starts all three, runs the body and stops them; each has to end with 0.
  static func with(
    _ setting: Setting = Setting(), _ body: (RunningGateway) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await withLoginRole(on: queue.pool, named: "gateway", in: ["analysis_gateway"]) { (login) in
        try await withLoginRole(on: queue.pool, named: "worker", in: ["analysis_worker"]) { (worker) in
          try await with(setting, queue, gateway: login, worker: worker, body)
        }
      }
    }
  }

  private static func with(
    _ setting: Setting, _ queue: QueueFixture, gateway: String, worker: String,
    _ body: (RunningGateway) async throws -> Void
  ) async throws {
    try await RunningEndpoint.with(setting.endpoint) { endpoint in
      let worker = try setting.worker.map { options in
        try Executable(
          "analysis-worker", ["--endpoint", endpoint.url] + options,
          environment: ["ANALYSIS_DATABASE": "\(queue.database.conninfo) user=\(worker)"])
      }
      do {
        let gateway = try await start(
          setting.gateway, queue, endpoint, "\(queue.database.conninfo) user=\(gateway)")
        do {
          try await body(gateway)
          await gateway.stop()
        } catch {
          gateway.process.send(SIGKILL)
          _ = await gateway.process.ended()
          throw error
        }
      } catch {
        worker?.send(SIGKILL)
        throw error
      }
      if let worker {
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
    }
  }

  static func start(
    _ options: [String], _ queue: QueueFixture, _ endpoint: RunningEndpoint, _ conninfo: String
  ) async throws -> RunningGateway {
    let process = try Executable(
      "analysis-gateway", ["--listen", "127.0.0.1:0"] + options, environment: ["ANALYSIS_DATABASE": conninfo])
    var port: UInt16?
    try await eventually("the port") {
      if process.hasEnded { throw TestSupportError("it has ended: \(process.messagesSoFar)") }
      port = process.messagesSoFar.firstMatch(of: /Apps are served","address":"127\.0\.0\.1:([0-9]+)"/)
        .flatMap { UInt16($0.1) }
      return port != nil
    }
    return RunningGateway(
      queue: queue, endpoint: endpoint, process: process, port: try #require(port), conninfo: conninfo)
  }

  /// Stops it in order; it must have lived until then.
  func stop(_ location: SourceLocation = #_sourceLocation) async {
    if !process.hasEnded { process.send(SIGTERM) }
    let ended = await process.ended()
    #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)", sourceLocation: location)
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// A user with a token.
  func user(_ name: String, plan: String = "premium") async throws -> String {
    try await queue.addUser(name, plan: plan)
    let token = try UserToken(shard: 0).text
    try await queue.addToken(name, text: token)
    return token
  }

  func client() throws -> RawClient { try RawClient(port: port) }

  /// Asks for something with a token.
  func ask(_ method: String = "GET", _ path: String, _ token: String, body: [UInt8] = []) throws
    -> RawClient.Response
  {
    try client().request(method, path, headers: ["Authorization": "Bearer \(token)"], body: body)
  }

  /// Sends a photo.
  func upload(
    _ image: [UInt8], type: String = "throat", _ token: String, headers: [String: String] = [:]
  ) throws -> RawClient.Response {
    let client = try client()
    try client.send(raw: SeedUpload(image: image, type: type, token: token, port: port).bytes(headers))
    return client.receive()
  }
}

/// The request of the seed's own app, byte by byte: `uploadImage` of its `NetworkService`, as URLSession sends it.
struct SeedUpload {
  let image: [UInt8]
  let type: String
  let token: String
  let port: UInt16
  let boundary = "Boundary-\(UUID().uuidString)"

  /// The body as the app makes it: the parameters, then the image under a fixed name and type.
  var body: [UInt8] {
    var body = Data()
    body.append(Data("--\(boundary)\r\n".utf8))
    body.append(Data("Content-Disposition: form-data; name=\"type\"\r\n\r\n".utf8))
    body.append(Data("\(type)\r\n".utf8))
    body.append(Data("--\(boundary)\r\n".utf8))
    body.append(Data("Content-Disposition: form-data; name=\"image\"; filename=\"image.jpg\"\r\n".utf8))
    body.append(Data("Content-Type: image/jpeg\r\n\r\n".utf8))
    body.append(Data(image))
    body.append(Data("\r\n".utf8))
    body.append(Data("--\(boundary)--\r\n".utf8))
    return Array(body)
  }

  /// The whole request.
  func bytes(_ further: [String: String] = [:]) -> [UInt8] {
    let body = body
    var head = [
      "POST /api/analyze HTTP/1.1", "Host: 127.0.0.1:\(port)",
      "Content-Type: multipart/form-data; boundary=\(boundary)", "Connection: keep-alive", "Accept: */*",
      "User-Agent: SymptomSentryAI/1 CFNetwork/1568.200.51 Darwin/24.1.0",
      "Content-Length: \(body.count)", "Accept-Language: en-US,en;q=0.9", "Authorization: Bearer \(token)",
      "Accept-Encoding: gzip, deflate",
    ]
    head += further.map { "\($0): \($1)" }
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
  }
}
