import Glibc

/// Signals of the system as an asynchronous sequence.
public enum Signals {
  /// Delivers each arrival of the given signals, second ones too, until the stream is no longer read; then
  /// they do again what they do by default. Throws `system` where no pipe or thread can be made.
  ///
  /// - Parameter thenIgnored: Whether they do nothing at all then: for a program that ends when the stream does, and
  ///   is to end by itself, not by a signal that comes in its last moment.
  public static func stream(
    of signals: Set<Signal>, thenIgnored: Bool = false
  ) throws(SystemError) -> AsyncStream<Signal> {
    let relay = try SignalRelay.shared.get()
    let (stream, continuation) = AsyncStream.makeStream(of: Signal.self)
    let listener = relay.add(signals, thenIgnored: thenIgnored, continuation)
    continuation.onTermination = { _ in relay.remove(listener) }
    return stream
  }

  /// Makes writing to a pipe or socket whose other side is gone an error of that call, not the process's end.
  public static func ignoreBrokenPipe() {
    signal(SIGPIPE, SIG_IGN)
  }
}
