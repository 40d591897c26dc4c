/// Looks again and again until something has come about.
///
/// - Throws: When it has not within five minutes, which guards against hanging and measures nothing.
public func eventually(
  _ what: String = "what is waited for", file: String = #fileID, line: Int = #line,
  _ condition: () async throws -> Bool
) async throws {
  let patience = ContinuousClock.now + .seconds(300)
  while try await !condition() {
    guard ContinuousClock.now < patience else {
      throw TestSupportError("\(file):\(line): five minutes passed without \(what)")
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}
