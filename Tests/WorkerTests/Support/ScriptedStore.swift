import EventLoop
import Foundation
import QueueTestSupport
import Synchronization
import TestSupport

@testable import Images
@testable import Queue
@testable import Support

/// An object store that keeps what is put into it, until the test has it answer otherwise.
final class ScriptedStore: Sendable {
  /// What it does with a question for an object instead of giving it.
  enum Fault: Sendable {
    case status(Int, code: String)
    case reset
    /// It says that there is more than there is, and closes.
    case truncated
    case bytes([UInt8])
  }

  private struct State {
    var objects: [String: [UInt8]] = [:]
    var reads: [String] = []
    var authorizations: Set<Bool> = []
    var fault: (@Sendable (String) -> Fault?)?
  }

  private final class Record: Sendable {
    let state = Mutex(State())
  }

  private let record = Record()
  private let server: RawServer
  private let folder = Mutex<TemporaryFolder?>(nil)

  init() throws {
    let record = record
    server = try RawServer { connection in
      while let request = try connection.readRequest() { try Self.serve(request, connection, record) }
    }
  }

  private static func serve(
    _ request: RawConnection.Received, _ connection: RawConnection, _ record: Record
  ) throws {
    let isSigned =
      request.headers["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true
      && request.headers["x-amz-content-sha256"] == Hexadecimal.text(of: SHA256.digest(of: request.body))
    let key = String(request.target.dropFirst("/images/".count))
    if request.method == "PUT" {
      record.state.withLock { $0.objects[key] = request.body }
      record.state.withLock { _ = $0.authorizations.insert(isSigned) }
      return try connection.respond(200)
    }
    let (bytes, fault) = record.state.withLock { state in
      state.reads.append(key)
      state.authorizations.insert(isSigned)
      return (state.objects[key], state.fault)
    }
    // Outside of the lock: it may wait.
    switch fault?(key) {
    case .status(let status, let code):
      try connection.respond(status, "<Error><Code>\(code)</Code></Error>")
    case .reset: connection.reset()
    case .truncated:
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \((bytes?.count ?? 0) + 9)\r\n\r\n")
      try connection.write(bytes ?? [])
      connection.close()
    case .bytes(let other): try answer(other, connection)
    case nil:
      guard let bytes else { return try connection.respond(404, "<Error><Code>NoSuchKey</Code></Error>") }
      try answer(bytes, connection)
    }
  }

  private static func answer(_ bytes: [UInt8], _ connection: RawConnection) throws {
    try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
    try connection.write(bytes)
  }

  /// The store as a program has it.
  ///
  /// - Parameter deadline: how long one request may take; nil for the usual time.
  func store(deadline: Duration? = nil) throws -> ImageStore {
    let folder = try TemporaryFolder()
    self.folder.withLock { $0 = folder }
    var settings = try ObjectSettings.read(
      ObjectServer.file(in: folder, address: server.url + "/images"), environment: [:])
    if let deadline { settings.deadline = deadline }
    return ImageStore(settings, loop: try EventLoop(name: "store"))
  }

  /// What it does with questions for objects from now on; nil: it answers them.
  func fail(_ fault: (@Sendable (String) -> Fault?)?) { record.state.withLock { $0.fault = fault } }

  /// The objects by their keys.
  var objects: [String: [UInt8]] { record.state.withLock { $0.objects } }

  /// Forgets an object.
  func lose(_ key: String) { record.state.withLock { $0.objects[key] = nil } }

  /// The keys that were asked for.
  var reads: [String] { record.state.withLock { $0.reads } }

  /// Whether every request was signed.
  var wasSigned: Bool { record.state.withLock { $0.authorizations == [true] } }
}

extension QueueFixture {
  /// Has new images go to a store, and submits encrypted ones there; answers them as they were before.
  ///
  /// - Parameter first: from which number on they are drawn.
  func submitObjects(
    _ count: Int, to store: ImageStore, under ring: KeyRing, from first: Int = 1
  ) async throws -> [[UInt8]] {
    try await execute("UPDATE analysis.setting SET value = 's3' WHERE name = 'image_store'")
    let newImages = try await NewImages.read(pool, store: store, hasKeys: true)
    var images: [[UInt8]] = []
    for number in first..<first + count {
      let plain = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 11 &+ number) }
      let kept = try KeptImage(plain, of: "clinic", ring)
      guard let object = try await newImages?.put(kept.bytes, sha256: kept.sha256), let key = kept.key else {
        throw TestSupportError("the image went to no store")
      }
      let outcomes = try await submit([
        Submission(
          user: "clinic", kind: .throat,
          image: .object(
            object, sha256: kept.sha256, width: 64, height: 48,
            storedKey: StoredKey(keyID: key.keyID.value, wrappedKey: key.bytes)))
      ])
      guard outcomes.allSatisfy({ $0.job != nil }) else { throw TestSupportError("\(outcomes)") }
      images.append(plain)
    }
    return images
  }
}
