internal import Ccurl
import Support

/// A request that was checked against the rules and the policy, ready to be set into a handle.
struct PreparedRequest {
  let request: Request
  let destination: Destination
  let body: RequestBody
  private let deadline: Int
  private let connectTimeout: Int
  /// Where the host is, in libcurl's form; nil to look its name up, or where it is an address itself.
  private let resolution: String?

  /// Checks a request to an address that was checked.
  ///
  /// - Throws: `invalidRequest`, and `timedOut` when the deadline is over already.
  init(
    _ request: Request, to destination: Destination, deadline: Duration, configuration: Configuration
  ) throws(TransferError) {
    self.request = request
    self.destination = destination
    self.deadline = deadline.wholeMilliseconds
    guard self.deadline > 0 else {
      throw TransferError(
        .timedOut, phase: .preparing, certainlyNotSent: true,
        message: "The deadline of the request to \(destination.host) was over before it was sent.")
    }
    connectTimeout = max(1, min(self.deadline, configuration.connectTimeout.wholeMilliseconds))
    body = try RequestBody(request.body)
    for field in request.headers.fields { try FieldRules.check(field) }
    resolution = try request.pin.flatMap { pin throws(TransferError) in
      try Self.resolution(of: request.url, pin, configuration)
    }
  }

  private static func resolution(
    of url: String, _ pin: AddressPin, _ configuration: Configuration
  ) throws(TransferError) -> String? {
    // A proxy looks names up by itself, and the connection is to the proxy.
    guard case .none = configuration.proxy else {
      throw .refusedByPolicy("its addresses are fixed, which no proxy would heed")
    }
    guard let parts = URLParts(url), parts.url == url else {
      throw .invalidRequest("its addresses are fixed, and it is not written as it will be read")
    }
    guard let entry = pin.entry(host: parts.host, port: parts.port) else {
      throw .invalidRequest("an address that it is fixed to is none")
    }
    // libcurl takes no name with colons there; an address in figures is not looked up anyway.
    return parts.host.hasPrefix("[") ? nil : entry
  }

  /// Sets everything that differs between requests; false when libcurl is out of memory.
  func apply(to handle: EasyHandle) -> Bool {
    handle.clearError()
    handle.set(CURLOPT_TIMEOUT_MS, deadline)
    handle.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeout)
    // Over TLS a first request is waited for, to learn whether its connection can take the others too.
    handle.set(CURLOPT_PIPEWAIT, destination.scheme == "https" ? 1 : 0)
    return handle.set(CURLOPT_URL, request.url)
      && handle.set(CURLOPT_PROTOCOLS_STR, destination.scheme)
      && handle.setResolution(resolution)
      && handle.setHeaderLines(Self.ourLines + headerLines)
      && handle.setSignature(request.signature)
      && setMethod(handle)
  }

  /// libcurl 7.88 signs a header without a value wrongly.
  private var headerLines: [String] {
    let lines = body.headerLines + request.headers.fields.map(Self.line)
    return request.signature == nil ? lines : lines.filter { $0 != RequestBody.noExpect }
  }

  private func setMethod(_ handle: EasyHandle) -> Bool {
    let method = request.method
    handle.set(CURLOPT_NOBODY, 0)
    if body.isPresent || method == .post || method == .put {
      handle.set(CURLOPT_POST, 1)
      return curl_setopt_offset(handle.pointer, CURLOPT_POSTFIELDSIZE_LARGE, body.count) == CURLE_OK
        && handle.set(CURLOPT_CUSTOMREQUEST, method == .post ? nil : method.name)
    }
    handle.set(CURLOPT_HTTPGET, 1)
    if method == .head { return handle.set(CURLOPT_CUSTOMREQUEST, nil) && handle.set(CURLOPT_NOBODY, 1) }
    return handle.set(CURLOPT_CUSTOMREQUEST, method == .get ? nil : method.name)
  }

  /// Without it a server may compress its answer (RFC 9110, section 12.5.3), which is then refused.
  private static let ourLines = ["Accept-Encoding: identity"]

  /// libcurl's form of a header line; one without a value ends in a semicolon there.
  private static func line(_ field: Headers.Field) -> String {
    field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
  }
}

extension Duration {
  /// Rounded up, within what libcurl takes (a C int).
  var wholeMilliseconds: Int {
    Int(min(max(millisecondsRoundedUp, 0), Int64(Int32.max)))
  }
}

/// A request's body as libcurl gets it: pieces of memory and the header lines that go with them.
struct RequestBody {
  let isPresent: Bool
  let segments: [any BodyBytes]
  let count: Int
  let headerLines: [String]

  init(_ body: Body) throws(TransferError) {
    switch body {
    case .none:
      (isPresent, segments, count, headerLines) = (false, [], 0, [])
    case .bytes(let bytes, let contentType):
      guard !contentType.isEmpty, FieldRules.isValue(contentType) else {
        throw .invalidRequest("the content type has a control character or is empty")
      }
      (isPresent, segments, count) = (true, [bytes], bytes.count)
      headerLines = Self.lines(contentType)
    case .multipart(let form):
      let (contentType, segments) = try form.encoded()
      (isPresent, self.segments) = (true, segments)
      count = segments.reduce(0) { $0 + $1.count }
      headerLines = Self.lines(contentType)
    }
  }

  /// `Expect:` without a value keeps libcurl from waiting a second for the server's consent to a large body.
  private static func lines(_ contentType: String) -> [String] {
    ["Content-Type: \(contentType)", noExpect]
  }

  fileprivate static let noExpect = "Expect:"
}
