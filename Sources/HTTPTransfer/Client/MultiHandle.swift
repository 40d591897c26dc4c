internal import Ccurl
internal import EventLoop
internal import Glibc

/// libcurl's multi handle on the event loop: descriptors and timers in, finished transfers out.
///
/// Everything here happens on the loop's thread, inside `HTTPClient`, to which this belongs.
final class MultiHandle {
  private let pointer: UnsafeMutableRawPointer
  private let loop: EventLoop
  /// A descriptor that the loop watches.
  private struct Watched {
    /// Whether libcurl waits for it.
    var isWanted = true
    /// This side's port where it is a connection. One that libcurl wants no more stays watched: nearly always the next
    /// request of it follows, and it is closed by `closing` alone. What tells the end of a name's lookup is a pair of
    /// sockets that libcurl closes by itself, and their numbers are the next connections'.
    let localPort: Int?
    /// The protocol of the last answer on it; nil before the first.
    var served: HTTPVersion?
  }

  private var watched: [Int32: Watched] = [:]
  private var timer: TimerToken?
  /// When the loop's timer fires, and when libcurl wants to be called: the same or later.
  private var timerDue: ContinuousClock.Instant?
  private var wanted: ContinuousClock.Instant?
  private var isAdding = false
  /// Handles whose descriptor the loop would not watch: they could never make progress.
  private(set) var stuck: [EasyHandle] = []
  private let onReady: @Sendable (Int32, Int32) -> Void
  private let onTimer: @Sendable () -> Void
  private var isRetainedByCurl = true

  /// Makes the handle; nil when libcurl is out of memory.
  ///
  /// - Parameters:
  ///   - onReady: Gets a descriptor and libcurl's bits; must come back by `advance`.
  ///   - onTimer: Must come back by `advance` with `CURL_SOCKET_TIMEOUT`.
  init?(
    loop: EventLoop, configuration: Configuration, onReady: @escaping @Sendable (Int32, Int32) -> Void,
    onTimer: @escaping @Sendable () -> Void
  ) {
    guard LibraryStart.succeeded, let pointer = curl_multi_init() else { return nil }
    self.pointer = pointer
    self.loop = loop
    self.onReady = onReady
    self.onTimer = onTimer
    let context = Unmanaged.passRetained(self).toOpaque()
    curl_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, configuration.maximumConnections)
    curl_multi_setopt_long(
      pointer, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost)
    curl_multi_setopt_pointer(pointer, CURLMOPT_SOCKETDATA, context)
    curl_multi_setopt_pointer(pointer, CURLMOPT_TIMERDATA, context)
    curl_multi_setopt_socket_function(pointer) { easy, descriptor, what, context, _ in
      guard let context else { return 0 }
      Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().watch(descriptor, what, easy)
      return 0
    }
    curl_multi_setopt_timer_function(pointer) { _, milliseconds, context in
      guard let context else { return 0 }
      Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().wait(milliseconds)
      return 0
    }
  }

  /// Puts a handle to work; false when libcurl refuses. `advance` with `CURL_SOCKET_TIMEOUT` must follow at once:
  /// libcurl asks for it by a timer of no length, which is not set.
  func add(_ handle: EasyHandle) -> Bool {
    isAdding = true
    defer { isAdding = false }
    // The connection that it opens keeps the function and this object, and goes before them.
    curl_setopt_pointer(
      handle.pointer, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
    curl_setopt_close_function(handle.pointer) { context, descriptor in
      guard let context else { return close(descriptor) }
      return Unmanaged<MultiHandle>.fromOpaque(context).takeUnretainedValue().closing(descriptor)
    }
    handle.multi = self
    return curl_multi_add_handle(pointer, handle.pointer) == CURLM_OK
  }

  /// Takes a handle out, in whatever state its transfer is.
  func remove(_ handle: EasyHandle) {
    curl_multi_remove_handle(pointer, handle.pointer)
    stuck.removeAll { $0 === handle }
  }

  /// Lets libcurl go on after a readiness or a timeout, and returns the handles that are done.
  func advance(_ descriptor: Int32, _ bits: Int32) -> [(handle: EasyHandle, result: CURLcode)] {
    if watched[descriptor]?.isWanted == false {
      // The server has closed a connection that rests, or sent what nobody asked for. libcurl 7.88 would take those
      // bytes for the next request's answer.
      if watched[descriptor]?.served == .http1 { Self.end(descriptor) }
      unwatch(descriptor)
      return []
    }
    var running: Int32 = 0
    curl_multi_socket_action(pointer, descriptor, bits, &running)
    var finished: [(handle: EasyHandle, result: CURLcode)] = []
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      var context: UnsafeMutableRawPointer?
      guard let easy = message.pointee.easy_handle,
        curl_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, let context
      else { continue }
      finished.append((EasyHandle.from(context), curl_message_result(message)))
    }
    return finished
  }

  // MARK: Bytes that nobody asked for

  /// A transfer has ended on a connection of this side's port.
  func served(_ version: HTTPVersion, at localPort: Int) {
    if let descriptor = descriptor(at: localPort) { watched[descriptor]?.served = version }
  }

  /// Whether a connection that is about to carry the next request has bytes already. On HTTP/2 each answer names its
  /// request, and a first request may find the TLS handshake's last bytes.
  func hasUnaskedBytes(at localPort: Int) -> Bool {
    guard let descriptor = descriptor(at: localPort), watched[descriptor]?.served == .http1 else {
      return false
    }
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
  }

  /// Whether the other side's system has confirmed all that was sent on the connection of this side's port. It has when
  /// its program answers what it has read, since each packet confirms what came before it. True where that cannot be told.
  func isConfirmed(at localPort: Int) -> Bool {
    guard let descriptor = descriptor(at: localPort) else { return true }
    var unconfirmed: Int32 = 0
    return ioctl(descriptor, UInt(TIOCOUTQ), &unconfirmed) != 0 || unconfirmed == 0
  }

  /// Ends the connection of this side's port, so that no request after this one can meet what is left on it.
  func endConnection(at localPort: Int) {
    guard let descriptor = descriptor(at: localPort), watched[descriptor]?.served == .http1 else { return }
    Self.end(descriptor)
  }

  private func descriptor(at localPort: Int) -> Int32? {
    watched.first { $0.value.localPort == localPort }?.key
  }

  /// Discards what a connection has, and ends it: libcurl closes it when it would use it again.
  private static func end(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
      var rounds = 64  // a server that never stops sending gets a reset
      while rounds > 0, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {
        rounds -= 1
      }
    }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Closes all connections. All handles must have been removed; nothing may be called after it.
  func destroy() {
    guard isRetainedByCurl else { return }
    isRetainedByCurl = false
    curl_multi_setopt_socket_function(pointer, nil)
    curl_multi_setopt_timer_function(pointer, nil)
    for descriptor in watched.keys { loop.unwatch(descriptor) }
    watched = [:]
    if let timer { loop.cancel(timer) }
    timer = nil
    curl_multi_cleanup(pointer)
    Unmanaged.passUnretained(self).release()
  }

  // MARK: Callbacks

  private func watch(_ descriptor: Int32, _ what: Int32, _ easy: UnsafeMutableRawPointer?) {
    let isWanted = what != CURL_POLL_REMOVE
    if !isWanted, watched[descriptor]?.localPort == nil { return unwatch(descriptor) }
    var interest: Interest = []
    if !isWanted || what & CURL_POLL_IN != 0 { interest.insert(.read) }
    if isWanted, what & CURL_POLL_OUT != 0 { interest.insert(.write) }
    do {
      if watched[descriptor] != nil {
        try loop.update(descriptor, interest)
        watched[descriptor]?.isWanted = isWanted
      } else {
        let onReady = onReady
        try loop.watch(descriptor, interest) { readiness in onReady(descriptor, Self.bits(readiness)) }
        watched[descriptor] = Watched(localPort: Self.localPort(of: descriptor))
      }
    } catch {
      var context: UnsafeMutableRawPointer?
      guard let easy, curl_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else {
        return
      }
      stuck.append(EasyHandle.from(context))
    }
  }

  private func unwatch(_ descriptor: Int32) {
    guard watched.removeValue(forKey: descriptor) != nil else { return }
    loop.unwatch(descriptor)
  }

  /// This side's port of a connection; nil of any other descriptor. It stands at the same place in addresses of IPv4
  /// and IPv6.
  private static func localPort(of descriptor: Int32) -> Int? {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      getsockname(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    guard result == 0, [AF_INET, AF_INET6].contains(Int32(address.sin6_family)) else { return nil }
    return Int(UInt16(bigEndian: address.sin6_port))
  }

  /// Closes a descriptor for libcurl. Its number may be the next connection's.
  private func closing(_ descriptor: Int32) -> Int32 {
    unwatch(descriptor)
    return close(descriptor)
  }

  /// A hang-up or an error is handed on as readiness: libcurl then finds the cause by reading and writing,
  /// and reads what the server had sent before it. With an error reported it would drop an answer unread.
  private static func bits(_ readiness: Readiness) -> Int32 {
    let ended = !readiness.isDisjoint(with: [.hangup, .error])
    var bits: Int32 = 0
    if ended || readiness.contains(.read) { bits |= CURL_CSELECT_IN }
    if ended || readiness.contains(.write) { bits |= CURL_CSELECT_OUT }
    return bits
  }

  /// libcurl asks for this several times a transfer, nearly always for later than before (the next deadline): then
  /// the timer stays as it is, and one that fires before its time is set anew.
  private func wait(_ milliseconds: Int) {
    guard milliseconds >= 0, !isAdding else {
      wanted = nil
      return
    }
    let due = EventLoop.now + .milliseconds(milliseconds)
    wanted = due
    if let timerDue, timerDue <= due { return }
    setTimer(for: due)
  }

  private func setTimer(for due: ContinuousClock.Instant) {
    if let timer { loop.cancel(timer) }
    let onTimer = onTimer
    timerDue = due
    timer = loop.schedule(after: due - EventLoop.now) { onTimer() }
  }

  /// The timer has fired; false when it is not time yet, or libcurl wants none any more. Otherwise libcurl is to be
  /// told, and sets a new one if it wants.
  func timerFired() -> Bool {
    timer = nil
    timerDue = nil
    guard let wanted else { return false }
    guard wanted <= EventLoop.now else {
      setTimer(for: wanted)
      return false
    }
    self.wanted = nil
    return true
  }
}

/// libcurl's start, once in a process.
enum LibraryStart {
  static let succeeded = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
