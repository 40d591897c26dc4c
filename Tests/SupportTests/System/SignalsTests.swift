import Foundation
import Testing

@testable import Support

@Suite("Signals arrive", .serialized)
struct SignalsTests {
  @Test(
    "each arrival is delivered, second ones too", arguments: [Signal.hangup, .user1, .terminate, .interrupt])
  func second(signal: Signal) async throws {
    let stream = try Signals.stream(of: [signal])
    var iterator = stream.makeAsyncIterator()
    for _ in 1...3 {
      kill(getpid(), signal.number)
      #expect(await iterator.next() == signal)
    }
  }

  @Test("every stream gets the signals it asked for")
  func many() async throws {
    let first = try Signals.stream(of: [.hangup, .user1])
    let second = try Signals.stream(of: [.user1])
    kill(getpid(), SIGHUP)
    var one = first.makeAsyncIterator()
    #expect(await one.next() == .hangup)
    kill(getpid(), SIGUSR1)
    var other = second.makeAsyncIterator()
    #expect(await one.next() == .user1)
    #expect(await other.next() == .user1)
  }

  /// What a signal does: 0 by default, 1 nothing, else a handler.
  private func disposition(_ number: Int32) -> Int {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
  }

  @Test(
    "when nobody listens any more a signal does again what it does by default, or nothing if so wished",
    arguments: [(false, 0), (true, 1)])
  func restored(thenIgnored: Bool, left: Int) async throws {
    defer { signal(SIGUSR1, SIG_DFL) }
    let listener = Task {
      for await _ in try Signals.stream(of: [.user1], thenIgnored: thenIgnored) { break }
    }
    // The handler is in place before the first signal may be sent.
    while disposition(SIGUSR1) == 0 { await Task.yield() }
    kill(getpid(), SIGUSR1)
    try await listener.value
    #expect(disposition(SIGUSR1) == left)
  }

  @Test("writing to a pipe whose reader is gone is an error, not the end")
  func brokenPipe() throws {
    Signals.ignoreBrokenPipe()
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    #expect(write(ends[1], "x", 1) == -1)
    #expect(errno == EPIPE)
    close(ends[1])
  }
}
