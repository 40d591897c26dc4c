/// Something a command takes: an `Option`, a `Flag` or an `Argument`.
public protocol Input: Sendable {
  /// What the parser, the help, the completion scripts and the manual page know of it.
  var definition: InputDefinition { get }
}
