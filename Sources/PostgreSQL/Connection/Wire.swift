internal import Clibpq
internal import EventLoop
import Support

/// A libpq connection and its descriptor in the loop; used by one actor only, on the loop.
final class Wire {
  private let loop: EventLoop
  private var handler: (@Sendable (Readiness) -> Void)?
  private var pointer: OpaquePointer?
  private var watched: Int32?
  private var wantsWrite = false
  let notices: NoticeSink
  /// Whether rows were asked for in parts since the last pipeline: into the next one libpq 15 may take that along, to what is
  /// first in it.
  private(set) var splitsRows = false
  /// Where libpq can ask the server to stop by a call that blocks only.
  let cancelKey: CancelKey?

  /// Whether reading or writing has failed: what libpq still holds can be read, nothing more will come.
  private(set) var hasFailed = false

  init(_ fresh: FreshConnection, on loop: EventLoop) {
    pointer = fresh.take()
    self.loop = loop
    notices = fresh.notices
    cancelKey = CancelRequest.isAvailable ? nil : pointer.flatMap { CancelKey($0) }
  }

  var isOpen: Bool { pointer != nil }

  /// Ends the connection; nothing that was queued is waited for.
  func close() {
    pauseReading()
    guard let pointer else { return }
    self.pointer = nil
    PQfinish(pointer)
  }

  // MARK: Watching

  /// Watches for what may come, from now on by this handler.
  func startReading(_ handler: @escaping @Sendable (Readiness) -> Void) {
    self.handler = handler
    resumeReading()
  }

  /// Watches for what may come; does nothing when that is being done.
  func resumeReading() {
    guard let pointer, let handler, watched == nil, !hasFailed else { return }
    let descriptor = PQsocket(pointer)
    guard descriptor >= 0 else {
      hasFailed = true
      return
    }
    do throws(EventLoopError) {
      try loop.watch(descriptor, wantsWrite ? [.read, .write] : .read, handler)
      watched = descriptor
    } catch {
      hasFailed = true
    }
  }

  /// Leaves what comes in the kernel's buffers, and so, when they are full, with the server.
  func pauseReading() {
    guard let watched else { return }
    loop.unwatch(watched)
    self.watched = nil
  }

  /// Sends what is queued as far as the kernel takes it; true when all is sent.
  @discardableResult
  func flush() -> Bool {
    guard let pointer, !hasFailed else { return true }
    let left = PQflush(pointer)
    if left < 0 { fail() }
    let wanted = left > 0
    if wanted != wantsWrite {
      wantsWrite = wanted
      if let watched {
        do throws(EventLoopError) {
          try loop.update(watched, wanted ? [.read, .write] : .read)
        } catch {
          fail()
        }
      }
    }
    return !wanted
  }

  /// Reads what has come.
  func consume() {
    guard let pointer, !hasFailed else { return }
    if PQconsumeInput(pointer) == 0 || PQsocket(pointer) < 0 { fail() }
  }

  private func fail() {
    hasFailed = true
    // libpq may have closed the descriptor already; the loop then only forgets it.
    pauseReading()
  }

  // MARK: Answers

  /// Whether the next result is not there yet. After a failure nothing is waited for.
  var isBusy: Bool {
    guard let pointer else { return false }
    return PQisBusy(pointer) != 0 && !hasFailed
  }

  /// The next result; nil at the end of a statement's results, and when the connection is closed. Blocks
  /// while `isBusy`.
  func nextResult() -> ServerResult? {
    guard let pointer, let result = PQgetResult(pointer) else { return nil }
    return ServerResult(result)
  }

  /// Takes the notifications that have come.
  func notifications(_ body: (Notification) -> Void) {
    guard let pointer else { return }
    while let message = PQnotifies(pointer) {
      body(
        Notification(
          channel: String(cString: message.pointee.relname), payload: String(cString: message.pointee.extra),
          backendPID: message.pointee.be_pid))
      PQfreemem(message)
    }
  }

  /// Whether no transaction is open.
  var isIdle: Bool { pointer.map { PQtransactionStatus($0) == PQTRANS_IDLE } ?? false }

  /// What libpq says of the last failure.
  var failureText: String {
    Redaction.withoutQuoted(pointer.flatMap { PQerrorMessage($0) }.map { String(cString: $0) } ?? "").trimmed
  }

  /// A setting the server reports by itself.
  func parameterStatus(_ name: String) -> String? {
    pointer.flatMap { PQparameterStatus($0, name) }.map { String(cString: $0) }
  }

  var serverVersion: Int { pointer.map { Int(PQserverVersion($0)) } ?? 0 }
  var backendPID: Int32 { pointer.map { PQbackendPID($0) } ?? 0 }

  /// What the server keeps of a password; nil when it cannot be made. Nothing is sent.
  func hash(ofPassword password: String, for login: String) -> String? {
    guard let pointer, let hash = PQencryptPasswordConn(pointer, password, login, "scram-sha-256") else {
      return nil
    }
    defer { PQfreemem(hash) }
    return String(cString: hash)
  }

  // MARK: Requests, each true when libpq has taken it

  func send(_ statement: SQLStatement) -> Bool {
    guard let pointer else { return false }
    return EncodedParameters(statement.parameters).withPointers { count, types, values, lengths, formats in
      PQsendQueryParams(pointer, statement.sql, count, types, values, lengths, formats, 1)
    } == 1
  }

  /// Sends a statement that the server has been told under a name.
  func send(_ statement: SQLStatement, named name: String) -> Bool {
    guard let pointer else { return false }
    return EncodedParameters(statement.parameters).withPointers { count, _, values, lengths, formats in
      PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
    } == 1
  }

  /// Tells the server a statement under a name.
  func prepare(_ statement: SQLStatement, as name: String) -> Bool {
    guard let pointer else { return false }
    return EncodedParameters(statement.parameters).withPointers { count, types, _, _, _ in
      PQsendPrepare(pointer, name, statement.sql, count, types)
    } == 1
  }

  func send(script: String) -> Bool {
    guard let pointer else { return false }
    return PQsendQuery(pointer, script) == 1
  }

  /// Has the rows of what was just sent come in parts of so many, where libpq can; else one by one.
  func splitRows(_ count: Int) -> Bool {
    splitsRows = pointer.map { pq_split_rows($0, Int32(count)) } ?? false
    return splitsRows
  }

  /// A request to the server to stop what the connection is doing, where there is no `cancelKey` for it; nil when it could
  /// not be begun.
  func cancelRequest() -> CancelRequest? { pointer.flatMap { CancelRequest($0, on: loop) } }

  func enterPipeline() -> Bool { pointer.map { PQenterPipelineMode($0) == 1 } ?? false }
  func exitPipeline() -> Bool { pointer.map { PQexitPipelineMode($0) == 1 } ?? false }
  func sync() -> Bool {
    splitsRows = false
    return pointer.map { PQpipelineSync($0) == 1 } ?? false
  }

  func put(_ bytes: [UInt8]) -> Bool {
    guard let pointer else { return false }
    return bytes.withUnsafeBytes { buffer in
      PQputCopyData(pointer, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(buffer.count))
        == 1
    }
  }

  /// Ends a COPY from us; a reason makes the server undo it.
  func endCopy(refusing reason: String?) -> Bool {
    guard let pointer else { return false }
    return PQputCopyEnd(pointer, reason) == 1
  }

  enum CopyChunk {
    case row, wait, end, failed
  }

  /// Appends the next row of a COPY to us.
  func takeCopyRow(into bytes: inout [UInt8]) -> CopyChunk {
    guard let pointer else { return .failed }
    var row: UnsafeMutablePointer<CChar>?
    let count = PQgetCopyData(pointer, &row, 1)
    defer { PQfreemem(row) }
    switch count {
    case 0: return .wait
    case -1: return .end
    case 1...: break
    default: return .failed
    }
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: row, count: Int(count)))
    return .row
  }
}
