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
  /// Whether the client is let in, where its body is read only then.
  private var admission: PendingPage?
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
    if let fault = faultOfHeaders(connection) {
      return deliver(core.answer(HTTPRefusal(400, fault, closes: true)), connection)
    }
    let match: HTTPRoutes.Match
    switch core.route(method: method, path: path, host: connection.header("Host")) {
    case .failure(let refused): return deliver(core.answer(refused), connection)
    case .success(let found): match = found
    }
    self.match = match
    if let length = connection.header("Content-Length"), Int(length).map({ $0 > bodyLimit }) ?? true {
      return refuse(core.answer(ServerCore.tooLarge), connection)
    }
    guard case .upload(let form, let admit) = match.route.body else { return true }
    upload = MultipartUpload(form, contentType: connection.header("Content-Type") ?? "")
    lease = BodyLease(core.uploads)
    let admission = PendingPage(connection)
    self.admission = admission
    connection.keep()
    let request = HTTPRequest(match, path: path, connection, lease: lease)
    return core.wait(admission, orSay: "The program is busy. Try again later.") { await admit(request) }
      || deliver(core.answer(ServerCore.isStopping), connection)
  }

  /// What a proxy before this server may have read otherwise than it does: then what follows may be anybody's.
  private func faultOfHeaders(_ connection: HTTPConnection) -> String? {
    let lengths = connection.headers.all("content-length")
    let codings = connection.headers.all("transfer-encoding")
    if lengths.count + codings.count > 1 { return "The request says twice how long its body is." }
    if let coding = codings.first, coding.lowercased() != "chunked" {
      return "The request's body is coded in a way that is not understood."
    }
    if connection.headers.all("host").count > 1 { return "The request names two hosts." }
    // The library takes `Content-Length : 5` for a header of another name.
    let hasBlank = connection.headers.pairs.contains { $0.name.last == " " || $0.name.last == "\t" }
    if hasBlank { return "A header's name ends with a blank." }
    return nil
  }

  private var bodyLimit: Int {
    switch match?.route.body {
    case .form: core.bounds.form
    case .bytes(let limit): limit
    case .upload(let form, _): form.fileLimit + Self.formOverhead
    case .some(.none), nil: core.bounds.body
    }
  }

  /// Answers a request whose body has not been read. Where a file is coming in that is read to its end first: a client
  /// that is still sending when the connection is closed would not see why.
  private func refuse(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    let length = connection.header("Content-Length").flatMap { Int($0) } ?? 0
    guard case .upload = match?.route.body, length <= Self.readAnyway, connection.header("Expect") == nil
    else {
      return deliver(answer, connection)
    }
    discard(answer)
    connection.bodyBegins()
    return true
  }

  /// Keeps nothing of the body, and answers this at its end.
  private func discard(_ answer: HTTPAnswer) {
    refusal = answer
    upload = nil
    lease = nil
  }

  override func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bodyBytes += bytes.count
    if refusal != nil { return bodyBytes <= Self.readAnyway }
    guard bodyBytes <= bodyLimit else {
      // One that did not announce its length.
      guard case .upload = match?.route.body else { return false }
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
      self.admission = nil
      guard admission.isFinished else { return false }
      if let answer = admission.answer { return refuse(answer, connection) }
      connection.bodyBegins()
      return true
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
    return core.make(match.route, request, page)
      || deliver(core.answer(ServerCore.isStopping), connection)
  }

  override func end() { lease?.end() }

  private func deliver(_ answer: HTTPAnswer, _ connection: HTTPConnection) -> Bool {
    guard let events = answer.events else {
      core.answered(answer.status)
      return connection.answer(answer.status, answer.allHeaders, answer.body)
    }
    guard let body = events.source.open(connection, topic: events.topic, closed: events.closed) else {
      return deliver(core.answer(HTTPRefusal(503, "Too many listen to events already.")), connection)
    }
    events.opened()
    core.answered(answer.status)
    return connection.answer(answer.status, answer.allHeaders, length: nil, body)
  }
}
