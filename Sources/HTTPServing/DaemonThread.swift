internal import Clinux
internal import Cmicrohttpd
internal import Glibc
internal import Synchronization

/// One of a daemon's threads, with connections of its own: it waits, and has libmicrohttpd serve what has come.
final class DaemonThread: Sendable {
  /// What a daemon's threads share.
  struct Shared: Sendable {
    let accept: @Sendable (HTTPConnection, String, String) -> HTTPExchange
    let refuse: @Sendable (_ fault: String) -> HTTPAnswer
    let connections: OpenConnections?
  }

  let shared: Shared
  private let wakeUp: Int32
  private let isWoken = Atomic(false)
  private let isQuiet = Atomic(false)
  private let isStopping = Atomic(false)
  private let state = Mutex(State())

  private struct State {
    /// The address of the `MHD_Daemon`, which is the thread's own once it runs.
    var daemon: UInt = 0
    var thread: pthread_t?
    /// The addresses of the connections of whose request the first line is there, and not all headers.
    var begun: Set<UInt> = []
    /// Whether TLS is spoken.
    var isSecured = false
  }

  /// A thread that does not run yet; nil where the system has no descriptor left.
  init?(_ shared: Shared) {
    self.shared = shared
    wakeUp = eventfd(0, linux_eventfd_flags)
    guard wakeUp >= 0 else { return nil }
  }

  deinit { close(wakeUp) }

  /// Takes a listening socket of its own, and starts; false where it could not.
  func start(_ listener: Int32, _ flags: UInt32, _ options: [MHD_OptionItem]) -> Bool {
    // Not retained: whoever started the thread has it until it was joined.
    let context = Unmanaged.passUnretained(self).toOpaque()
    var options = [mhd_option_log(said, context)] + options + [mhd_option_target(targetArrived, context)]
    if shared.connections != nil { options.append(mhd_option_notify(connectionChanged, context)) }
    // The library closes the socket at its end, and where it cannot begin.
    state.withLock { $0.isSecured = flags & mhd_flags_tls != 0 }
    guard listener >= 0,
      let daemon = mhd_start(
        flags, listener, requestAdvanced, requestEnded, context, options + [mhd_option_end()])
    else { return false }
    return state.withLock { state in
      state.daemon = UInt(bitPattern: daemon)
      var thread = pthread_t()
      guard pthread_create(&thread, nil, daemonThreadMain, context) == 0 else {
        MHD_stop_daemon(daemon)
        return false
      }
      state.thread = thread
      return true
    }
  }

  /// Wakes the thread for what no socket shows. Any thread may call it.
  func wake() {
    guard !isWoken.exchange(true, ordering: .acquiringAndReleasing) else { return }
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  /// Takes no more connections.
  func quiesce() {
    isQuiet.store(true, ordering: .releasing)
    wake()
  }

  /// Begins to end, with all of its connections.
  func beginToStop() {
    isStopping.store(true, ordering: .releasing)
    wake()
  }

  /// The first line of a request is there.
  fileprivate func began(_ connection: OpaquePointer) {
    state.withLock { _ = $0.begun.insert(UInt(bitPattern: connection)) }
  }

  /// Its headers are there, or it has ended.
  fileprivate func isHandled(_ connection: OpaquePointer) {
    state.withLock { _ = $0.begun.remove(UInt(bitPattern: connection)) }
  }

  /// The library refuses a request. Of one whose headers are whole, 0.9.75 sends the head of its answer twice: so that one
  /// is answered here, and the library finds its connection ended. Over TLS it alone may write, and there is no answer.
  fileprivate func refuses(_ status: Int) {
    let (begun, isSecured) = state.withLock { ($0.begun, $0.isSecured) }
    let refused = begun.lazy.compactMap { OpaquePointer(bitPattern: $0) }.first { mhd_head_size($0) > 0 }
    guard let refused else { return }
    let socket = mhd_socket(refused)
    if !isSecured {
      var answer = shared.refuse(RequestHead.malformed)
      answer.status = status
      answer.headers.append(("Connection", "close"))
      _ = answer.wholeText.withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
      }
    }
    shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Waits for the end. A second call does nothing.
  func join() {
    let thread = state.withLock { $0.thread.take() }
    if let thread { pthread_join(thread, nil) }
  }

  fileprivate func run() {
    linux_set_thread_name("http")
    guard let daemon = OpaquePointer(bitPattern: state.withLock { $0.daemon }) else { return }
    var listens = true
    var descriptors = [mhd_epoll(daemon), wakeUp].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while true {
      // Before anything is looked at: who wakes the thread from now on may not be seen by this look, and ends the wait.
      _ = isWoken.exchange(false, ordering: .acquiringAndReleasing)
      if isStopping.load(ordering: .acquiring) { break }
      if listens, isQuiet.load(ordering: .acquiring) {
        listens = false
        close(MHD_quiesce_daemon(daemon))
      }
      MHD_run(daemon)
      if poll(&descriptors, 2, mhd_wait(daemon)) > 0, descriptors[1].revents != 0 {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, 8)
      }
    }
    MHD_stop_daemon(daemon)
  }
}

private func daemonThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { thread(context).run() }
  return nil
}

private func thread(_ context: UnsafeMutableRawPointer) -> DaemonThread {
  Unmanaged<DaemonThread>.fromOpaque(context).takeUnretainedValue()
}

/// What libmicrohttpd keeps of a request from its first line to its end.
private final class IncomingRequest {
  let line: RequestHead.Line
  var exchange: HTTPExchange?
  /// Whether it waits to be asked again before its body is read.
  var isHeld = false
  /// Whether all of it has come.
  var isWhole = false

  init(_ line: RequestHead.Line) {
    self.line = line
  }
}

/// A request that is refused before anybody sees it.
private final class FaultyExchange: HTTPExchange {
  private var answer: HTTPAnswer

  init(_ answer: HTTPAnswer) {
    self.answer = answer
    // What follows may be another request to one who reads this one otherwise.
    self.answer.headers.append(("Connection", "close"))
  }

  override func begin(_ connection: HTTPConnection) -> Bool {
    connection.answer(answer.status, answer.allHeaders, answer.body)
  }
}

/// Called by libmicrohttpd with what it says of itself. Nothing is printed: a message may have bytes of a request.
private func said(
  _ context: UnsafeMutableRawPointer?, _ format: UnsafePointer<CChar>?, _ arguments: CVaListPointer?
) {
  guard let context, let format, let arguments, String(cString: format).hasPrefix("Error processing request")
  else { return }
  var text = [CChar](repeating: 0, count: 80)
  vsnprintf(&text, text.count, format, arguments)
  let numbers = text.prefix { $0 != 0 }.split { !(48...57).contains($0) }
  let status = numbers.first.flatMap { Int(String(decoding: $0.map(UInt8.init), as: UTF8.self)) }
  thread(context).refuses(status ?? 400)
}

/// Called by libmicrohttpd with the target of a request as it was sent. What it answers is the request's state.
private func targetArrived(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  if let context, let connection {
    let thread = thread(context)
    thread.began(connection)
    thread.shared.connections?.requestBegan(HTTPConnection(connection, on: thread))
  }
  return Unmanaged.passRetained(IncomingRequest(RequestHead.Line(target))).toOpaque()
}

/// Called by libmicrohttpd when headers are there, for each piece of a body, and when all is there.
private func requestAdvanced(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let path, let method, let version, let count, let known = state?.pointee
  else { return mhd_no }
  let thread = thread(context)
  let connections = thread.shared.connections
  let connected = HTTPConnection(connection, on: thread)
  let request = Unmanaged<IncomingRequest>.fromOpaque(known).takeUnretainedValue()
  guard let exchange = request.exchange else {
    thread.isHandled(connection)
    let fault = RequestHead.fault(of: connected, method, request.line, version)
    let exchange =
      fault.map { FaultyExchange(thread.shared.refuse($0)) }
      ?? thread.shared.accept(connected, String(cString: method), String(cString: path))
    request.exchange = exchange
    // Before it begins: one that keeps its connection waiting for something says so itself.
    connections?.bodyBegins(connected)
    defer { request.isHeld = mhd_is_suspended(connection) }
    return exchange.begin(connected) ? mhd_yes : mhd_no
  }
  if count.pointee > 0, let data {
    connections?.received(count.pointee, connected)
    let isWanted = exchange.receive(UnsafeRawBufferPointer(start: data, count: count.pointee))
    count.pointee = 0
    return isWanted ? mhd_yes : mhd_no
  }
  if request.isHeld {
    defer { request.isHeld = mhd_is_suspended(connection) }
    return exchange.advance(connected) ? mhd_yes : mhd_no
  }
  connections?.keep(connected)
  guard request.isWhole else {
    // A connection that is suspended while the library still means to read from it is read from first when it goes on,
    // and one whose client has sent all and closed its side would be ended. At the next turn it does not mean to.
    request.isWhole = true
    return mhd_yes
  }
  return exchange.advance(connected) ? mhd_yes : mhd_no
}

/// Called by libmicrohttpd once for each request that has begun.
private func requestEnded(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let connection, let state, let known = state.pointee else { return }
  state.pointee = nil
  thread(context).isHandled(connection)
  let exchange = Unmanaged<IncomingRequest>.fromOpaque(known).takeRetainedValue().exchange
  guard let exchange else { return }
  let thread = thread(context)
  thread.shared.connections?.release(HTTPConnection(connection, on: thread))
  exchange.end()
}

/// Called by libmicrohttpd when a connection was taken, and before its socket is closed.
private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ kept: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
  guard let context, let connection else { return }
  let thread = thread(context)
  let connected = HTTPConnection(connection, on: thread)
  if UInt32(change.rawValue) == mhd_connection_started {
    thread.shared.connections?.began(connected)
  } else {
    thread.shared.connections?.ended(connected)
  }
}
