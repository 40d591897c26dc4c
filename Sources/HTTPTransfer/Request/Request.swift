public import Support

/// One request, as a value.
public struct Request: Sendable, CustomStringConvertible {
  /// The method.
  public var method: Method
  /// The absolute address, `https` or `http`, without user name and password.
  public var url: String
  /// Fields beside those that the transfer writes itself (`Host`, `Content-Length`, `Content-Type` …).
  public var headers: Headers
  /// What is sent.
  public var body: Body
  /// Whether the request may reach the server twice, when a kept-alive connection turns out to be dead.
  ///
  /// The transfer then sends it again by itself. Otherwise such a request fails with its outcome unknown.
  public var mayBeRepeated: Bool
  /// The only addresses that it may go to; nil for wherever the name leads.
  public var pin: AddressPin?
  /// By what it is signed for S3's API (AWS Signature Version 4); nil: it is not. The request itself says the SHA-256 of its
  /// body, in `x-amz-content-sha256`.
  public var signature: (region: String, accessKey: String, secretKey: Secret)?

  /// A request; it may be repeated when its method is idempotent.
  public init(
    _ method: Method = .get, _ url: String, headers: Headers = Headers(), body: Body = .none,
    mayBeRepeated: Bool? = nil, pin: AddressPin? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.mayBeRepeated = mayBeRepeated ?? method.isIdempotent
    self.pin = pin
  }

  /// Method and address without its query and fragment, which may hold secrets; no header and no body.
  public var description: String {
    "\(method) \(url.prefix { $0 != "?" && $0 != "#" })"
  }
}

/// A request's method.
public struct Method: Hashable, Sendable, CustomStringConvertible {
  /// The name in the request line.
  public let name: String

  private init(_ name: String) {
    self.name = name
  }

  /// `GET`.
  public static let get = Method("GET")
  /// `HEAD`.
  public static let head = Method("HEAD")
  /// `POST`.
  public static let post = Method("POST")
  /// `PUT`.
  public static let put = Method("PUT")
  /// `DELETE`.
  public static let delete = Method("DELETE")

  /// Whether a repeat has the same effect as a single request, by the method's definition.
  public var isIdempotent: Bool { self != .post }

  /// The name.
  public var description: String { name }
}

/// What a request carries.
public enum Body: Sendable {
  case none
  /// Bytes of one content type.
  case bytes(any BodyBytes, contentType: String)
  /// Form fields and files.
  case multipart(Multipart)
}

/// Bytes that a request body lends to the transfer, without a copy.
///
/// Whoever owns an image implements this, over an array or over memory of another library. The transfer
/// calls it on the event loop's thread, any number of times while the request is in flight, and keeps no
/// pointer between two calls.
public protocol BodyBytes: Sendable {
  /// How many bytes there are; must not change.
  var count: Int { get }

  /// Lends the bytes for the length of one call, always the same bytes.
  func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
}

extension Array: BodyBytes where Element == UInt8 {}

/// Header fields in their order, with names that are compared without regard to case.
public struct Headers: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// One field.
  public struct Field: Sendable, Equatable {
    /// The name as it was written.
    public let name: String
    /// The value without surrounding blanks.
    public let value: String
  }

  /// The fields in their order.
  public private(set) var fields: [Field] = []

  /// No field.
  public init() {}

  /// The fields of a literal, in its order; a name may come twice.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }

  /// Adds a field behind the others, of the same name too.
  public mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// The value of the last field of a name.
  public subscript(_ name: String) -> String? {
    fields.last { Self.equal($0.name, name) }?.value
  }

  /// The values of all fields of a name, in their order.
  public func all(_ name: String) -> [String] {
    fields.filter { Self.equal($0.name, name) }.map(\.value)
  }

  /// Adds a line's continuation to the last field.
  mutating func continueLast(with text: String) {
    guard let last = fields.popLast() else { return }
    fields.append(Field(name: last.name, value: last.value.isEmpty ? text : last.value + " " + text))
  }

  private static func equal(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

/// Which header fields a request may carry (RFC 9110): what is refused here could end a line early and
/// so smuggle a field or a second request.
enum FieldRules {
  /// Written by the transfer itself, since the framing of the request depends on them.
  private static let reserved: Set<String> = [
    "host", "content-length", "content-type", "transfer-encoding", "expect", "connection", "te", "upgrade",
    "accept-encoding", "proxy-authorization", "proxy-connection", "keep-alive", "trailer",
  ]

  /// Whether a text is a token: the characters that a name may have.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// Whether a text has no control character other than a tab.
  static func isValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }

  /// Throws `invalidRequest` for a field that may not be sent. The message names the field, never its value.
  static func check(_ field: Headers.Field) throws(TransferError) {
    guard isToken(field.name) else { throw .invalidRequest("a header's name is not a token") }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .invalidRequest("the header \(field.name) is written by the transfer itself")
    }
    guard isValue(field.value) else {
      throw .invalidRequest("the value of the header \(field.name) has a control character")
    }
  }
}

/// The addresses that a request may go to, looked up and judged beforehand: the name is not looked up again.
///
/// What a name leads to may change between two look-ups, by design of whoever owns it. A request with a pin
/// connects to the addresses of the pin alone, and nothing of it is sent to any other.
public struct AddressPin: Sendable {
  /// The addresses in figures (`192.0.2.1`, `2001:db8::1`), at least one.
  public var addresses: [String]
  /// Asked with the address of the connection before anything is sent on it, since a kept-alive connection of
  /// an earlier request may serve this one. Called on the event loop's thread.
  public var permits: @Sendable (String) -> Bool

  /// A pin to addresses; a connection to one of these alone is permitted unless `permits` says otherwise.
  public init(_ addresses: [String], permits: (@Sendable (String) -> Bool)? = nil) {
    self.addresses = addresses
    self.permits = permits ?? { addresses.contains($0) }
  }
}

extension AddressPin {
  /// libcurl's form of "this host and port are at these addresses"; nil when an address is none, since nothing
  /// else may get into that list.
  func entry(host: String, port: Int) -> String? {
    guard !addresses.isEmpty, addresses.allSatisfy(Self.isInFigures) else { return nil }
    let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    return "\(host):\(port):\(list)"
  }

  private static func isInFigures(_ address: String) -> Bool {
    !address.isEmpty
      && address.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
          true
        default: false
        }
      }
  }
}
