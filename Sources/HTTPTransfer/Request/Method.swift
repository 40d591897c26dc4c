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
