import EventLoop
import HTTPTransfer
import TestSupport
import Testing

@Suite("The system's look-up of names")
struct ResolverTests {
  @Test("finds this machine, each address once")
  func localhost() async throws {
    let found = try await NameResolver.system.addresses("localhost")
    #expect(!found.isEmpty)
    #expect(Set(found).count == found.count)
    #expect(found.allSatisfy { AddressRules.refusal(of: $0) != nil })
  }

  @Test("says in words that name nothing of the question that there is no answer")
  func unknown() async throws {
    // A name that no server may give an address to (RFC 6761).
    let loop = try EventLoop(name: "look-up")
    defer { loop.shutdown() }
    let error = await #expect(throws: HostLookup.Failure.self) {
      try await HostLookup(.system).addresses(of: "secret.invalid", within: patience, on: loop)
    }
    guard case .notResolved(let reason) = error else {
      Issue.record("it failed otherwise: \(String(describing: error))")
      return
    }
    #expect(!reason.isEmpty && !reason.contains("secret"))
  }

  @Test("is not waited for by whoever is cancelled")
  func cancelled() async throws {
    let task = Task { try await NameResolver.system.addresses("localhost") }
    task.cancel()
    // Whichever came first.
    let result = await task.result
    if case .failure(let error) = result { #expect(error is CancellationError) }
  }
}
