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
  /// Nothing.
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
