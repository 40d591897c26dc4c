internal import Cmicrohttpd

/// What a client asks for.
public struct HTTPRequest: Sendable {
  /// What may be done with a page.
  public enum Method: String, Sendable {
    /// It is read; HEAD is answered by the same page.
    case get = "GET"
    /// A form, or something else, is sent to it.
    case post = "POST"
    /// What it shows is replaced.
    case put = "PUT"
    /// What it shows is taken away.
    case delete = "DELETE"
  }

  let method: Method
  /// The path, decoded; without what stands before the route's own (`HTTPRoute.below`).
  public internal(set) var path: String
  /// What stands in the path for each `*` of the route's.
  public let parameters: [String]
  /// What stands behind the path's question mark.
  public let query: FormValues
  /// The fields of the form that was sent.
  public let form: FormValues
  /// The cookies.
  public let cookies: FormValues
  /// The headers, by their names in lower case.
  public let headers: FormValues
  /// The body, where the route takes one as it is.
  public var body: [UInt8] = []
  /// The file that was sent, where the route takes one; nil where the body is no multipart form.
  public var upload: HTTPUpload?
  /// The memory of the file that is about to be sent, where it is decided who may.
  private var lease: BodyLease?

  /// A request with its parts, as a test makes one.
  init(
    _ method: Method = .get, _ path: String, parameters: [String] = [], query: FormValues = FormValues(),
    form: FormValues = FormValues(), cookies: FormValues = FormValues(), headers: FormValues = FormValues()
  ) {
    self.method = method
    self.path = path
    self.parameters = parameters
    self.query = query
    self.form = form
    self.cookies = cookies
    self.headers = headers
  }

  /// Keeps something for as long as the file that is about to be sent may be in memory.
  public func keepWithFile(_ kept: any Sendable) { lease?.keep(kept) }

  /// Reads a request whose headers are there.
  init(
    _ match: HTTPRoutes.Match, path: String, _ connection: HTTPConnection, form: FormValues = FormValues(),
    lease: BodyLease? = nil
  ) {
    self.init(
      match.route.method, path, parameters: match.parameters, query: connection.query, form: form,
      cookies: connection.cookies, headers: connection.headers)
    self.lease = lease
  }

  /// Reads a request whose body is there.
  static func read(
    _ match: HTTPRoutes.Match, path: String, _ connection: HTTPConnection, _ body: [UInt8],
    _ upload: HTTPUpload?
  ) -> Result<HTTPRequest, HTTPRefusal> {
    switch match.route.body {
    case .none: return .success(HTTPRequest(match, path: path, connection))
    case .form:
      let type = connection.header("Content-Type").flatMap { $0.split(separator: ";").first }?.lowercased()
      guard type == "application/x-www-form-urlencoded" else {
        return .failure(HTTPRefusal(415, "A form is sent as application/x-www-form-urlencoded."))
      }
      guard let form = FormValues(encoded: body) else {
        return .failure(HTTPRefusal(400, "The form is not UTF-8, or not encoded as a form."))
      }
      return .success(HTTPRequest(match, path: path, connection, form: form))
    case .bytes:
      var request = HTTPRequest(match, path: path, connection)
      request.body = body
      return .success(request)
    case .upload:
      var request = HTTPRequest(match, path: path, connection)
      request.upload = upload
      return .success(request)
    }
  }
}

/// Names with their values, in the order in which they came; a name may come more than once.
public struct FormValues: Sendable {
  /// What came.
  public let pairs: [(name: String, value: String)]

  /// Values with their names.
  public init(_ pairs: [(String, String)] = []) {
    self.pairs = pairs.map { (name: $0.0, value: $0.1) }
  }

  /// Reads `a=1&b=two+words`; nil where an escape is broken or what it stands for is not UTF-8.
  init?(encoded body: [UInt8]) {
    var pairs: [(String, String)] = []
    for part in body.split(separator: UInt8(ascii: "&")) {
      let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decoded(sides[0]), let value = Self.decoded(sides.count > 1 ? sides[1] : [])
      else {
        return nil
      }
      pairs.append((name, value))
    }
    self.init(pairs)
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
    var (decoded, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes)
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
          let escaped = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        decoded.append(escaped)
        rest = rest.dropFirst(2)
      default: decoded.append(byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  /// The first value of a name; nil where there is none.
  public subscript(_ name: String) -> String? { pairs.first { $0.name == name }?.value }

  /// All values of a name.
  public func all(_ name: String) -> [String] { pairs.filter { $0.name == name }.map(\.value) }
}

/// The first line and the headers of a request, as they were sent.
///
/// libmicrohttpd 0.9.75 splits them where they lie and puts zero bytes in place of colons and line ends. It takes a bare
/// line feed for a line's end, ends a value at a zero byte, and drops the second line of a folded header: what a proxy
/// before this server may read otherwise, and pass on as one request what is two here. So what it gives has to fill the
/// memory without a gap.
enum RequestHead {
  /// The first line, looked at when it was there, before the path is decoded in its place.
  struct Line {
    fileprivate let start: UInt
    fileprivate let size: Int
    fileprivate let fault: String?

    init(_ target: UnsafePointer<CChar>) {
      let bytes = RequestHead.bytes(target)
      start = UInt(bitPattern: target)
      size = bytes.count
      let path = bytes.prefix { $0 != UInt8(ascii: "?") }
      if String(decoding: path, as: UTF8.self).contains("%00") {
        fault = "A zero byte is in the path, and is no part of any name."
      } else if !bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) {
        fault = "The request's first line has a blank or a control character in its path."
      } else {
        fault = nil
      }
    }
  }

  private static let twoLengths = "The request says twice how long its body is."
  static let malformed = "The request's headers are malformed."

  /// Why a request is refused; nil where it is read by everybody alike.
  static func fault(
    of connection: HTTPConnection, _ method: UnsafePointer<CChar>, _ line: Line,
    _ version: UnsafePointer<CChar>
  ) -> String? {
    if let fault = line.fault { return fault }
    let fields = connection.fields
    let name = bytes(method)
    let versionName = bytes(version)
    guard name.allSatisfy(isOfToken), line.start == end(name) + 1,
      end(versionName) == line.start + UInt(line.size + 1 + versionName.count)
    else { return malformed }
    let headEnd = start(name) + UInt(connection.headSize)
    var position = end(versionName) + 2
    guard position < headEnd, isEmpty(position - 2, 2) else { return malformed }
    for field in fields {
      let blanks = Int(bitPattern: field.value.baseAddress) - Int(bitPattern: end(field.name)) - 1
      guard start(field.name) == position, !field.name.isEmpty, field.name.allSatisfy(isOfToken),
        isEmpty(end(field.name), 1), (0...connection.headSize).contains(blanks),
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: end(field.name) + 1), count: blanks)
          .allSatisfy({ $0 == 0x20 || $0 == 0x09 }),
        field.value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
        end(field.value) + 2 < headEnd, isEmpty(end(field.value), 2)
      else { return malformed }
      position = end(field.value) + 2
    }
    guard position + 2 == headEnd, isEmpty(position, 2) else { return malformed }
    return faultOfFraming(connection.headers, version: String(cString: version))
  }

  private static func faultOfFraming(_ headers: FormValues, version: String) -> String? {
    let codings = headers.all("transfer-encoding")
    if headers.all("content-length").count + codings.count > 1 { return twoLengths }
    if let coding = codings.first, coding.lowercased() != "chunked" || version != "HTTP/1.1" {
      return "The request's body is coded in a way that is not understood."
    }
    let hosts = headers.all("host").count
    if hosts > 1 { return "The request names two hosts." }
    if hosts == 0, version == "HTTP/1.1" { return "The request names no host." }
    return nil
  }

  private static func bytes(_ text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
    var count = 0
    while text[count] != 0 { count += 1 }
    return UnsafeRawBufferPointer(start: text, count: count)
  }

  private static func start(_ bytes: UnsafeRawBufferPointer) -> UInt { UInt(bitPattern: bytes.baseAddress) }

  private static func end(_ bytes: UnsafeRawBufferPointer) -> UInt { start(bytes) + UInt(bytes.count) }

  private static func isEmpty(_ position: UInt, _ count: Int) -> Bool {
    UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: position), count: count).allSatisfy { $0 == 0 }
  }

  /// Whether a byte may stand in a method or a header's name (RFC 9110).
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
