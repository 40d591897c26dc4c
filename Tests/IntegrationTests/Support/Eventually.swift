import Testing

/// Looks again and again until something has come about.
///
/// - Throws: When it has not within five minutes, which guards against hanging and measures nothing.
func eventually(
  _ location: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
  let patience = ContinuousClock.now + .seconds(300)
  while try await !condition() {
    try #require(ContinuousClock.now < patience, "it does not come about", sourceLocation: location)
    try await Task.sleep(for: .milliseconds(20))
  }
}
