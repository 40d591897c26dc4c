import Support

/// Where results (standard output) and messages (standard error) go.
public struct Console: Sendable {
  /// For results.
  public let output: any TextWriter
  /// For messages and progress.
  public let messages: any TextWriter
  /// What is behind `output`.
  public let outputTerminal: Terminal
  /// What is behind `messages`.
  public let messagesTerminal: Terminal

  /// Makes a console of your own, for tests.
  public init(
    output: any TextWriter, messages: any TextWriter, outputTerminal: Terminal = .plain,
    messagesTerminal: Terminal = .plain
  ) {
    self.output = output
    self.messages = messages
    self.outputTerminal = outputTerminal
    self.messagesTerminal = messagesTerminal
  }

  /// The process's own standard output and standard error.
  public static func standard(environment: [String: String]) -> Console {
    Console(
      output: DescriptorWriter(1), messages: DescriptorWriter(2),
      outputTerminal: .detect(descriptor: 1, environment: environment),
      messagesTerminal: .detect(descriptor: 2, environment: environment))
  }

  /// Writes a line of results.
  public func print(_ line: String) throws(WriteError) {
    try output.write(line + "\n")
  }

  /// Writes a message of one or more lines, of which only what is printable is shown. A standard error that cannot be
  /// written to is no reason to stop, so nothing is thrown.
  public func say(_ line: String) {
    try? messages.write(printable(line, keeping: "\n") + "\n")
  }

  /// Writes a message that has its colours, and whose foreign texts are printable already.
  public func show(painted line: String) {
    try? messages.write(line + "\n")
  }
}
