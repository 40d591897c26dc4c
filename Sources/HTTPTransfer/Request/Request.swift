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
