import Foundation
import Operations
import Testing

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

  @Test("when nobody listens any more a signal does again what it does by default")
  func restored() async throws {
    func isDefault() -> Bool {
      var action = sigaction()
      sigaction(SIGUSR1, nil, &action)
      return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
    }
    let listener = Task {
      for await _ in try Signals.stream(of: [.user1]) { break }
    }
    // The handler is in place before the first signal may be sent.
    while isDefault() { await Task.yield() }
    kill(getpid(), SIGUSR1)
    try await listener.value
    #expect(isDefault())
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
