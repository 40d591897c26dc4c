internal import Clinux
internal import Cmicrohttpd
internal import Glibc

/// A client's connection, with the request that is being served on it. Valid as long as its exchange is.
///
/// All but `resume` is for the daemon's own callbacks.
public struct HTTPConnection: Sendable, Hashable {
  /// The address of the `MHD_Connection`.
  private let address: UInt
  private let thread: DaemonThread
  private var others: OpenConnections? { thread.shared.connections }

  init(_ connection: OpaquePointer, on thread: DaemonThread) {
    address = UInt(bitPattern: connection)
    self.thread = thread
  }

  /// Whether it is the same one.
  public static func == (left: HTTPConnection, right: HTTPConnection) -> Bool {
    left.address == right.address
  }

  /// Hashes which one it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(address) }

  private var pointer: OpaquePointer? { OpaquePointer(bitPattern: address) }

  /// The value of one of the request's headers.
  public func header(_ name: String) -> String? {
    pointer.flatMap { mhd_header($0, name) }.map { String(cString: $0) }
  }

  /// All headers, their names in lower case.
  var headers: FormValues {
    FormValues(pairs(mhd_each_header).map { ($0.lowercased(), $1) })
  }

  /// The cookies that came with the request.
  var cookies: FormValues { FormValues(pairs(mhd_each_cookie)) }

  /// What stands behind the path's question mark, decoded.
  var query: FormValues { FormValues(pairs(mhd_each_argument)) }

  private typealias Iterator = (
    OpaquePointer, @escaping MHD_KeyValueIteratorN, UnsafeMutableRawPointer
  ) -> Void

  private func pairs(_ each: Iterator) -> [(String, String)] {
    guard let pointer else { return [] }
    var found: [(String, String)] = []
    withUnsafeMutablePointer(to: &found) { each(pointer, addPair, $0) }
    return found
  }

  /// The headers where they lie, for as long as they are looked at.
  var fields: [(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] {
    guard let pointer else { return [] }
    var found: [(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []
    withUnsafeMutablePointer(to: &found) { mhd_each_header(pointer, addField, $0) }
    return found
  }

  /// Bytes from the request's first to the end of its headers.
  var headSize: Int { pointer.map(mhd_head_size) ?? 0 }

  /// The client's socket, or -1.
  public var socket: Int32 { pointer.map(mhd_socket) ?? -1 }

  /// Whether there are more connections than there may be, and this is the one to be refused.
  var isSurplus: Bool { others?.isSurplus(self) ?? false }

  /// The request's body is to come from now on.
  func bodyBegins() { others?.bodyBegins(self) }

  /// Something is made for it, and its client need send nothing.
  func keep() { others?.keep(self) }

  /// Nothing is done for it until it is resumed.
  public func suspend() {
    MHD_suspend_connection(pointer)
  }

  /// It goes on: its exchange is asked to advance once more. Any thread may say so, once for each `suspend`.
  public func resume() {
    MHD_resume_connection(pointer)
    thread.wake()
  }

  /// Queues an answer whose body is there. Its client may leave it unread: from now on the connection makes room for
  /// newer ones.
  ///
  /// - Returns: Whether the connection stays open.
  public func answer(_ status: Int, _ headers: [(name: String, value: String)], _ body: [UInt8]) -> Bool {
    others?.release(self)
    return queue(status, headers, body.withUnsafeBytes { mhd_response($0.baseAddress, $0.count) })
  }

  /// Queues an answer whose body is read piece by piece, to an announced length or, without one, until it ends.
  ///
  /// - Returns: Whether the connection stays open.
  public func answer(
    _ status: Int, _ headers: [(name: String, value: String)], length: Int?, _ body: HTTPBodyReader
  ) -> Bool {
    let context = Unmanaged.passRetained(body).toOpaque()
    let announced = length.map { UInt64($0) } ?? mhd_unknown_length
    guard let response = mhd_read_response(announced, readBody, context, freeBody) else {
      Unmanaged<HTTPBodyReader>.fromOpaque(context).release()
      return false
    }
    return queue(status, headers, response)
  }

  /// Whether the client sends nothing more.
  private var hasClosedItsSide: Bool {
    var descriptor = pollfd(fd: socket, events: linux_poll_rdhup, revents: 0)
    return poll(&descriptor, 1, 0) > 0 && descriptor.revents & linux_poll_rdhup != 0
  }

  private func queue(
    _ status: Int, _ headers: [(name: String, value: String)], _ response: OpaquePointer?
  ) -> Bool {
    guard let response else { return false }
    defer { MHD_destroy_response(response) }
    for header in headers { MHD_add_response_header(response, header.name, header.value) }
    // The library does not look for an end that came with the last bytes, and would keep the connection until it is idle
    // for too long.
    if hasClosedItsSide { MHD_add_response_header(response, "Connection", "close") }
    return MHD_queue_response(pointer, UInt32(status), response) == mhd_yes
  }
}

/// A body that is read while it is sent. Used by the thread that serves its connection only.
open class HTTPBodyReader {
  /// What a read came to.
  public enum Step {
    /// So many bytes; 0 of a connection that was suspended, which asks again when it goes on.
    case bytes(Int)
    /// There is no more, of a body without an announced length.
    case end
    /// There is no more, although more was announced: the connection is closed.
    case broken
  }

  /// A body of which nothing was sent.
  public init() {}

  /// Puts the bytes from a position on into the buffer, as many as there are and go into it.
  open func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Step { .broken }
}

private func readBody(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
  guard let context, let buffer else { return mhd_reader_failed }
  let reader = Unmanaged<HTTPBodyReader>.fromOpaque(context).takeUnretainedValue()
  switch reader.read(at: Int(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: room)) {
  case .bytes(let count): return count
  case .end: return mhd_reader_ended
  case .broken: return mhd_reader_failed
  }
}

private func freeBody(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<HTTPBodyReader>.fromOpaque(context).release() }
}

/// Called by libmicrohttpd for each pair of a request.
private func addPair(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
  _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
  guard let context, let name else { return mhd_yes }
  context.assumingMemoryBound(to: [(String, String)].self).pointee.append(
    (text(name, nameSize), value.map { text($0, valueSize) } ?? ""))
  return mhd_yes
}

/// Called by libmicrohttpd for each header.
private func addField(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
  _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
  context?.assumingMemoryBound(to: [(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)].self)
    .pointee.append(
      (
        UnsafeRawBufferPointer(start: name, count: nameSize),
        UnsafeRawBufferPointer(start: value, count: valueSize)
      ))
  return mhd_yes
}

/// A text of so many bytes, of which one may be zero.
private func text(_ start: UnsafePointer<CChar>, _ size: Int) -> String {
  String(decoding: UnsafeRawBufferPointer(start: start, count: size), as: UTF8.self)
}
