import Synchronization

/// Keeps what is written, for tests.
public final class MemoryWriter: TextWriter {
  private let content = Mutex("")

  /// Makes an empty one.
  public init() {}

  /// Everything written so far.
  public var text: String { content.withLock { $0 } }

  /// Appends the text.
  public func write(_ text: String) throws(WriteError) {
    content.withLock { $0 += text }
  }
}
