import Glibc
import TestSupport
import Testing

@testable import Images
@testable import Support

@Suite("Pictures that wait for a decoder are served by lane and by user in turn")
struct DecoderTurnTests {
  private static func requester(_ user: Int64, _ priority: Priority = .normal) -> Requester {
    Requester(Lane(.throat, priority), UserKey(shard: 0, id: user))
  }

  /// Gives pictures one after the other, the first of which holds its decoder; `then` is called when so many wait.
  private func decode(
    _ pictures: [([UInt8], for: Requester)], waiting: Int, by program: GatedDecoder, slots: Int,
    then: () async throws -> Void = {}
  ) async throws {
    let decoders = ImageDecoders(slots: slots, program: program.program, arguments: program.arguments)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (index, (picture, requester)) in pictures.enumerated() {
        group.addTask { _ = try? await decoders.clean(picture, for: requester) }
        try await eventually("picture \(index) to be here") {
          index == 0 ? program.decoded == [1000] : decoders.waiting >= min(index, waiting)
        }
      }
      try await then()
      try await program.open()
      try await group.waitForAll()
    }
  }

  @Test("One of another user is next, whatever one user has waiting, and an urgent one before it")
  func turn() async throws {
    let program = try GatedDecoder(greeting: DecodingExchange.greeting)
    let pictures = [1000, 1001, 1002, 1003].map { (GatedDecoder.picture($0), for: Self.requester(1)) }
    try await decode(
      pictures + [
        (GatedDecoder.picture(2000), for: Self.requester(2)),
        (GatedDecoder.picture(3000), for: Self.requester(3, .urgent)),
      ], waiting: 5, by: program, slots: 1)
    #expect(program.decoded == [1000, 3000, 2000, 1001, 1002, 1003])
  }

  @Test(
    "A small one is decoded while costly ones have every slot that they may have: with three, on two processors, one",
    arguments: [2, 3])
  func costly(slots: Int) async throws {
    let program = try GatedDecoder(greeting: DecodingExchange.greeting)
    try await decode(
      [
        (GatedDecoder.picture(1000, 20_000), for: Self.requester(1)),
        (GatedDecoder.picture(1001, 20_000), for: Self.requester(1)),
        (GatedDecoder.picture(1002, 20_000), for: Self.requester(2)),
        (GatedDecoder.picture(2000, 100), for: Self.requester(3)),
      ], waiting: 2, by: program, slots: slots
    ) {
      try await eventually("the small one to be decoded") { program.decoded == [1000, 2000] }
    }
    #expect(program.decoded == [1000, 2000, 1002, 1001])
  }

  @Test("A costly one is decoded at a lower priority, by a process that no small one waits for")
  func priority() async throws {
    let decoders = ImageDecoders(slots: 2)
    for picture in [GatedDecoder.picture(20_000), try Drawn.jpeg(64, 48)] {
      for _ in 0..<2 { _ = try? await decoders.clean(picture) }
    }
    let own = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    #expect(
      decoders.idleProcesses.map { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t($0)) } == [
        own + 10, own,
      ])
  }

  @Test("A costly one is decoded all the same where the service's filter forbids to lower a priority")
  func priorityForbidden() async throws {
    let program = try GatedDecoder(greeting: DecodingExchange.greeting, isNiceForbidden: true)
    try await decode(
      [
        (GatedDecoder.picture(1000), for: Self.requester(1)),
        (GatedDecoder.picture(20_000), for: Self.requester(1)),
      ],
      waiting: 0, by: program, slots: 2
    ) {
      try await eventually("the costly one to be decoded") { program.decoded == [1000, 20_000] }
    }
  }
}
