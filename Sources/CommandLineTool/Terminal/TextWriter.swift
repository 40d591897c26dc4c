/// Where text goes. Called by the console, from any thread; throwing means the text was not written whole.
public protocol TextWriter: Sendable {
  /// Writes the whole text.
  func write(_ text: String) throws(WriteError)
}
