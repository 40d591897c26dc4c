import Testing

@testable import Worker

@Suite("How many calls the limit of open files allows")
struct DescriptorBudgetTests {
  @Test("all but what the worker itself has open", arguments: [(41, 1), (104, 64), (1024, 984)])
  func room(limit: Int, calls: Int) throws {
    #expect(try DescriptorBudget.calls(limit: limit) == calls)
  }

  @Test("and none without room for one: it says what to raise", arguments: [0, 7, 40])
  func noRoom(limit: Int) {
    let error = #expect(throws: WorkerError.self) {
      try DescriptorBudget.calls(limit: limit)
    }
    #expect(error?.description.contains("only \(limit) files") == true)
    #expect(error?.description.contains("LimitNOFILE") == true)
    #expect(error?.kind == .configuration)
  }
}
