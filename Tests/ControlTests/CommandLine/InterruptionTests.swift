import EventLoop
import Synchronization
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("Signals end a command")
struct InterruptionTests {
  private let loop: EventLoop
  private let signals: AsyncStream<Signal>
  private let source: AsyncStream<Signal>.Continuation

  init() throws {
    loop = try EventLoop(name: "interruption test")
    (signals, source) = AsyncStream.makeStream(of: Signal.self)
  }

  private func isCancelled(_ result: Result<ExitCode, any Error>) -> Bool {
    if case .failure(let error) = result { error is CancellationError } else { false }
  }

  @Test("the first cancels a body that does not look for them", arguments: [Signal.interrupt, .terminate])
  func first(signal: Signal) async {
    let (loop, source) = (loop, source)
    let result = await Interruption().run(on: loop, signals) {
      source.yield(signal)
      try await loop.sleep(for: .seconds(3600))
      return .done
    }
    #expect(isCancelled(result))
  }

  @Test("the first does not cancel a body that ends in good order, the second does")
  func second() async {
    let (loop, source) = (loop, source)
    let interruption = Interruption()
    let wasCancelledByFirst = Atomic(true)
    let result = await interruption.run(on: loop, signals) {
      interruption.endGracefully()
      source.yield(.interrupt)
      while !interruption.isAsked { await Task.yield() }
      wasCancelledByFirst.store(Task.isCancelled, ordering: .relaxed)
      source.yield(.interrupt)
      try await loop.sleep(for: .seconds(3600))
      return .done
    }
    let wasCancelled = wasCancelledByFirst.load(ordering: .relaxed)
    #expect(!wasCancelled)
    #expect(isCancelled(result))
  }

  @Test("one that came while the body was to end in good order cancels what comes after")
  func after() async {
    let (loop, source) = (loop, source)
    let interruption = Interruption()
    let result = await interruption.run(on: loop, signals) {
      interruption.endGracefully()
      source.yield(.interrupt)
      while !interruption.isAsked { await Task.yield() }
      interruption.cancelAtOnce()
      try await loop.sleep(for: .seconds(3600))
      return .done
    }
    #expect(isCancelled(result))
  }

  @Test("without one the body's own end is the command's, and it runs on the loop")
  func none() async {
    let loop = loop
    let result = await Interruption().run(on: loop, signals) {
      loop.isCurrent ? .nothingToDo : .internalError
    }
    #expect((try? result.get()) == .nothingToDo)
  }
}
