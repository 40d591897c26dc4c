/// Why the development endpoint could not start, or an option of it means nothing.
public struct EndpointError: Error, CustomStringConvertible, Sendable {
  /// What kind of thing went wrong.
  public struct Code: Sendable, Equatable {
    private enum Kind { case configuration, unreadable, cannotListen, system }
    private let kind: Kind

    /// A value of the configuration is out of its range or contradicts another.
    public static let configuration = Code(kind: .configuration)
    /// A file named by the configuration cannot be read or understood.
    public static let unreadable = Code(kind: .unreadable)
    /// The address or port cannot be listened on.
    static let cannotListen = Code(kind: .cannotListen)
    /// The operating system refused a resource.
    public static let system = Code(kind: .system)
  }

  /// What kind of thing went wrong.
  public let code: Code
  /// What happened, to what, and what to do about it.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
