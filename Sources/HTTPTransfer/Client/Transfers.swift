internal import Ccurl
internal import EventLoop

/// A client's handles: those at work, those kept for later, and the multi handle that joins them.
///
/// `@unchecked Sendable` is safe since one thread alone uses it, the event loop's: first by way of the
/// `HTTPClient` to which it belongs and whose executor the loop is, and when that is gone by the one closure
/// that its `deinit` gives to the loop.
final class Transfers: @unchecked Sendable {
  private let configuration: Configuration
  private var multi: MultiHandle?
  private var idle: [EasyHandle] = []
  private var active: [UInt64: EasyHandle] = [:]
  private(set) var isClosed = false

  init(configuration: Configuration) {
    self.configuration = configuration
  }

  /// Whether there is a multi handle yet.
  var isStarted: Bool { multi != nil }

  /// Takes the multi handle that the client made for its first request.
  func begin(with multi: MultiHandle?) {
    self.multi = multi
  }

  /// A handle for a request; nil when libcurl is out of memory.
  func takeHandle() -> EasyHandle? {
    idle.popLast() ?? EasyHandle.make(configuration)
  }

  /// Puts a transfer to work; false when libcurl refuses, and then the handle is gone.
  func start(_ handle: EasyHandle, _ transfer: Transfer) -> Bool {
    guard let multi, multi.add(handle) else {
      handle.destroy()
      return false
    }
    active[transfer.number] = handle
    advance(CURL_SOCKET_TIMEOUT, 0)
    return true
  }

  /// Lets libcurl go on after a readiness, and ends the transfers that are done.
  func advance(_ descriptor: Int32, _ bits: Int32) {
    guard let multi else { return }
    for (handle, result) in multi.advance(descriptor, bits) {
      guard let transfer = handle.transfer else { continue }
      end(handle, transfer, with: Outcome(handle, transfer, result).ending)
    }
    for handle in multi.stuck {
      guard let transfer = handle.transfer else { continue }
      end(handle, transfer, with: .failure(Outcome(handle, transfer, CURLE_OUT_OF_MEMORY).notWatched))
    }
  }

  /// Lets libcurl go on after a timeout.
  func timeout() {
    guard multi?.timerFired() == true else { return }
    advance(CURL_SOCKET_TIMEOUT, 0)
  }

  /// Takes a transfer off its connection; one that has ended is ignored.
  func cancel(_ number: UInt64) {
    guard let handle = active[number], let transfer = handle.transfer else { return }
    end(handle, transfer, with: .failure(Outcome(handle, transfer, CURLE_ABORTED_BY_CALLBACK).cancelled))
  }

  /// Ends the connection by which an answer came.
  func endConnection(of response: Response) {
    multi?.endConnection(at: response.localPort)
  }

  /// Ends everything; the second time does nothing.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    for handle in Array(active.values) {
      guard let transfer = handle.transfer else { continue }
      end(handle, transfer, with: .failure(.clientClosed(sent: transfer.startedSending)))
    }
    for handle in idle { handle.destroy() }
    idle = []
    multi?.destroy()
    multi = nil
  }

  /// Takes a handle out of work, keeps it for a later request, and ends the call.
  private func end(_ handle: EasyHandle, _ transfer: Transfer, with ending: Transfer.Ending) {
    multi?.remove(handle)
    // Nothing was sent, and the connection is closed: another one takes the request.
    if transfer.mayChangeConnection(), multi?.add(handle) == true { return advance(CURL_SOCKET_TIMEOUT, 0) }
    if let head = transfer.head.result { multi?.served(head.version, at: transfer.localPort) }
    active[transfer.number] = nil
    handle.transfer = nil
    if idle.count < configuration.maximumConnections { idle.append(handle) } else { handle.destroy() }
    transfer.end(ending)
  }
}

/// Where a request goes, read by the same parser that will connect, and allowed by the policy.
struct Destination {
  let scheme: String
  let host: String

  /// Checks an address.
  ///
  /// - Throws: `invalidRequest` when it is malformed; `refusedByPolicy` for another scheme than `https`,
  ///   plain `http` to another machine, and a user name or password in it.
  init(_ url: String, plainHTTP: Configuration.PlainHTTP) throws(TransferError) {
    guard FieldRules.isValue(url), let handle = curl_url() else {
      throw .invalidRequest("the address has a control character")
    }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Self.part(handle, CURLUPART_SCHEME), let host = Self.part(handle, CURLUPART_HOST)
    else {
      throw Self.malformed(url)
    }
    guard Self.part(handle, CURLUPART_USER) == nil, Self.part(handle, CURLUPART_PASSWORD) == nil else {
      throw .refusedByPolicy("the address has a user name or password in it; use a credentials file")
    }
    self.scheme = scheme
    self.host = host
    switch scheme {
    case "https": break
    case "http":
      if case .loopbackOnly = plainHTTP, !Self.isLoopback(host) {
        throw .refusedByPolicy("plain http to \(host), another machine, would show the token and the image")
      }
    default: throw .refusedByPolicy("only https is spoken, not \(scheme)")
    }
  }

  /// An unknown scheme is reported as such, since it is a decision and not a slip of the pen.
  private static func malformed(_ url: String) -> TransferError {
    let scheme = url.prefix { $0 != ":" }
    let known = ["http", "https"]
    if url.dropFirst(scheme.count).hasPrefix("://"), FieldRules.isToken(String(scheme)),
      !known.contains(scheme.lowercased())
    {
      return .refusedByPolicy("only https is spoken, not \(scheme)")
    }
    return .invalidRequest("the address cannot be read; it must be like https://host/path")
  }

  private static func part(_ handle: OpaquePointer, _ part: CURLUPart) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  /// Whether a host, as libcurl writes it (numbers in dotted form, IPv6 in brackets), is this machine.
  /// libcurl resolves `localhost` itself, without asking any server.
  static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { UInt8($0) != nil && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}
