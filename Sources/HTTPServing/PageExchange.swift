internal import Synchronization

/// One request for a page.
final class PageExchange: HTTPExchange {
  /// Bytes of a body without an announced length that are read after it was refused, so that the client reads why.
  private static let readAnyway = 64 << 20
  /// Bytes of a form beside its file: boundaries and headers.
  private static let formOverhead = 64 << 10

  private let core: ServerCore
  private let method: String
  private let path: String
  private var match: HTTPRoutes.Match?
  /// Whether the client is let in, where that is decided before its body is kept.
  private var admission: PendingPage?
  /// Whether the body is not read before that.
  private var isHeld = false
  private var page: PendingPage?
  /// What is answered at the body's end, which nobody reads any more.
  private var refusal: HTTPAnswer?
  private var body: [UInt8] = []
  private var upload: MultipartUpload?
  private var lease: BodyLease?
  private var bodyBytes = 0

  init(_ core: ServerCore, method: String, path: String) {
    self.core = core
    self.method = method
    self.path = path
  }

  override func begin(_ connection: HTTPConnection) -> Bool {
    if connection.isSurplus { return deliver(core.answer(ServerCore.tooMany), connection) }
    if method == "OPTIONS", connection.header("Access-Control-Request-Method") != nil,
      let answer = core.crossOrigin.preflight(
        from: connection.header("Origin"), methods: core.routes.methods(path))
    {
      discard(answer)
      return true
    }
    let match: HTTPRoutes.Match
    switch core.route(method: method, path: path, host: connection.header("Host")) {
    case .failure(let refused): return deliver(core.answer(refused), connection)
    case .success(let found): match = found
    }
    self.match = match
    let length = connection.header("Content-Length")
    if let length, Int(length).map({ $0 > bodyLimit }) ?? true {
      return refuse(core.answer(ServerCore.tooLarge), connection)
    }
    guard let admit = match.route.admit else { return true }
    if case .upload(let form) = match.route.body {
      upload = MultipartUpload(form, contentType: connection.header("Content-Type") ?? "")
      lease = BodyLease(core.uploads)
    }
    let admission = PendingPage(connection)
    let request = HTTPRequest(match, path: path, connection, lease: lease)
    guard
      core.begin(
        admission, atOnce: true, orSay: "The program is busy. Try again later.", { await admit(request) })
    else { return deliver(core.answer(ServerCore.isStopping), connection) }
    self.admission = admission
    // A short body may have come with the headers, and its client have closed its side: the library would find that end
    // first when it went on. So it is read, and waited for the decision at its end.
    isHeld =
      connection.header("Expect") != nil
      || (length.flatMap { Int($0) } ?? 0) >= core.bounds.daemon.connectionBytes
    guard isHeld || admission.isFinished else { return true }
    connection.keep()
    return isHeld && admission.suspend() || admitted(admission, connection)
  }

  /// It is decided whether the client is let in, and its body is to come.
  private func admitted(_ admission: PendingPage, _ connection: HTTPConnection) -> Bool {
    self.admission = nil
    isHeld = false
    if let answer = admission.answer { return refuse(answer, connection) }
    connection.bodyBegins()
    return true
  }

  private var bodyLimit: Int {
    switch match?.route.body {
    case .form: core.bounds.form
    case .bytes(let limit): limit
    case .upload(let form): form.fileLimit + Self.formOverhead
    case .some(.none), nil: core.bounds.body
    }
  }

  /// Answers a request whose body has not been read. Where it is one that is let in or not, it is read to its end first: a
  /// client that is still sending when the connection is closed would not see why.
  private func refuse(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    let length = connection.header("Content-Length").flatMap { Int($0) } ?? 0
    guard match?.route.admit != nil, length <= Self.readAnyway, connection.header("Expect") == nil else {
      return deliver(answer, connection)
    }
    discard(answer)
    connection.bodyBegins()
    return true
  }

  /// Keeps nothing of the body, and answers this at its end.
  private func discard(_ answer: HTTPAnswer) {
    refusal = answer
    body = []
    upload = nil
    lease = nil
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bodyBytes += bytes.count
    if let admission {
      if admission.isFinished {
        self.admission = nil
        if let answer = admission.answer { discard(answer) }
      } else if bodyBytes > core.bounds.daemon.connectionBytes {
        // Of one that did not announce its length no more is kept than its connection may take.
        _ = admission.suspend()
      }
    }
    if refusal != nil { return bodyBytes <= Self.readAnyway }
    guard bodyBytes <= bodyLimit else {
      // One that did not announce its length.
      guard match?.route.admit != nil else { return false }
      discard(core.answer(ServerCore.tooLarge))
      return true
    }
    switch match?.route.body {
    case .form, .bytes: body += bytes
    case .upload:
      upload?.receive(bytes)
      if lease?.grow(to: upload?.heldBytes ?? 0) == false { discard(core.answer(ServerCore.noMemory)) }
    default: break
    }
    return true
  }

  override func advance(_ connection: HTTPConnection) -> Bool {
    if let admission {
      if admission.suspend() { return true }
      if isHeld { return admitted(admission, connection) }
      self.admission = nil
      if let answer = admission.answer { return deliver(answer, connection) }
    }
    if let refusal { return deliver(refusal, connection) }
    if let page { return page.answer.map { deliver($0, connection) } ?? false }
    guard let match else { return false }
    var file: HTTPUpload?
    if let upload, let lease { file = HTTPUpload(upload, lease) }
    let request: HTTPRequest
    switch HTTPRequest.read(match, path: path, connection, body, file) {
    case .failure(let refused): return deliver(core.answer(refused), connection)
    case .success(let read): request = read
    }
    body = []
    upload = nil
    let page = PendingPage(connection)
    self.page = page
    guard core.make(match.route, request, page) else {
      return deliver(core.answer(ServerCore.isStopping), connection)
    }
    return page.suspend() || page.answer.map { deliver($0, connection) } ?? false
  }

  override func end() { lease?.end() }

  private func deliver(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    guard let events = answer.events else {
      core.answered(answer.status)
      if let kept = answer.kept {
        return connection.answer(
          answer.status, headers(of: answer, connection), length: answer.body.count,
          KeptBody(answer.body, kept))
      }
      return connection.answer(answer.status, headers(of: answer, connection), answer.body)
    }
    guard let body = events.source.open(connection, topic: events.topic, closed: events.closed) else {
      return deliver(core.answer(HTTPRefusal(503, "Too many listen to events already.")), connection)
    }
    events.opened()
    core.answered(answer.status)
    return connection.answer(answer.status, headers(of: answer, connection), length: nil, body)
  }

  private func headers(
    of answer: HTTPAnswer, _ connection: HTTPConnection
  ) -> [(name: String, value: String)] {
    answer.allHeaders + core.crossOrigin.headers(for: connection.header("Origin"))
  }
}

/// A body that is there, with what is kept until it was sent.
private final class KeptBody: HTTPBodyReader {
  private let bytes: [UInt8]
  private let kept: any Sendable

  init(_ bytes: [UInt8], _ kept: any Sendable) {
    self.bytes = bytes
    self.kept = kept
  }

  override func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Step {
    guard position < bytes.count else { return .end }
    let count = min(buffer.count, bytes.count - position)
    buffer.copyBytes(from: bytes[position..<position + count])
    return .bytes(count)
  }
}

/// A page that is being made, or something that is decided of a request. Its connection may be suspended for it.
final class PendingPage: Sendable {
  private struct State {
    var isFinished = false
    var isAbandoned = false
    var isSuspended = false
    var answer: HTTPAnswer?
    var whenFinished: (@Sendable () -> Void)?
    var whenAbandoned: (@Sendable () -> Void)?
  }

  let connection: HTTPConnection
  private let state = Mutex(State())

  init(_ connection: HTTPConnection) {
    self.connection = connection
  }

  /// What there is to be sent; nil where the request goes on, or nothing was decided yet.
  var answer: HTTPAnswer? { state.withLock { $0.answer } }

  /// Whether it was decided what becomes of the request.
  var isFinished: Bool { state.withLock { $0.isFinished } }

  /// Suspends the connection until it is finished; false where it is.
  func suspend() -> Bool {
    state.withLock { state in
      guard !state.isFinished else { return false }
      // Under the lock, so that it is suspended before it is resumed.
      if !state.isSuspended { connection.suspend() }
      state.isSuspended = true
      return true
    }
  }

  /// Calls the closure when it is finished, at once if it is.
  func whenFinished(_ body: @escaping @Sendable () -> Void) {
    let isFinished = state.withLock { state in
      if !state.isFinished { state.whenFinished = body }
      return state.isFinished
    }
    if isFinished { body() }
  }

  /// Calls the closure when the client has gone, at once if it has.
  func whenAbandoned(_ body: @escaping @Sendable () -> Void) {
    let isAbandoned = state.withLock { state in
      if !state.isAbandoned, !state.isFinished { state.whenAbandoned = body }
      return state.isAbandoned
    }
    if isAbandoned { body() }
  }

  /// The client has gone.
  func abandon() {
    let told = state.withLock { state in
      state.isAbandoned = true
      defer { state.whenAbandoned = nil }
      return state.whenAbandoned
    }
    told?()
  }

  /// The connection goes on with this answer, or without one. Called once.
  func finish(_ answer: HTTPAnswer?) {
    let (told, isSuspended) = state.withLock { state in
      state.answer = answer
      state.isFinished = true
      state.whenAbandoned = nil
      defer { state.whenFinished = nil }
      return (state.whenFinished, state.isSuspended)
    }
    told?()
    if isSuspended { connection.resume() }
  }
}
