/// Looks again and again until something has come about.
///
/// - Throws: When it has not within `patience`.
public func eventually(
  _ what: String = "what is waited for", file: String = #fileID, line: Int = #line,
  _ condition: () async throws -> Bool
) async throws {
  let limit = ContinuousClock.now + patience
  while try await !condition() {
    guard ContinuousClock.now < limit else {
      throw TestSupportError("\(file):\(line): \(patience) passed without \(what)")
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}
