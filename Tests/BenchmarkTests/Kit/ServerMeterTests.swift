import Testing

@testable import BenchmarkKit

@Suite("What a server has used of the processors")
struct ServerMeterTests {
  /// A server whose first process is 10, with children that end while somebody looks.
  private final class Server {
    var living: [Int32: UInt64]
    var ended: UInt64 = 700
    /// Who ends after so many looks at a process, of which one time round takes six.
    let ending: [Int: Int32]
    private var looks = 0

    init(living: [Int32: UInt64], ending: [Int: Int32] = [:]) {
      self.living = living
      self.ending = ending
    }

    func status(_ pid: Int32) -> ProcessFiles.Status? {
      defer {
        looks += 1
        if let pid = ending[looks], let ticks = living.removeValue(forKey: pid) { ended += ticks }
      }
      if pid == 10 { return ProcessFiles.Status(parent: 1, ticks: 5, ticksOfEnded: ended) }
      if pid == 99 { return ProcessFiles.Status(parent: 1, ticks: 1_000_000, ticksOfEnded: 0) }
      return living[pid].map { ProcessFiles.Status(parent: 10, ticks: $0, ticksOfEnded: 0) }
    }

    var processes: [Int32] { [10, 99] + living.keys.sorted() }

    func seconds() throws -> Double {
      try ServerMeter(postmaster: 10).seconds(status: status, processes: { self.processes })
    }
  }

  @Test("It is what its first process, those that live and those that ended have used, and nobody else")
  func whole() throws {
    #expect(try Server(living: [11: 20, 12: 30]).seconds() == 7.55)
  }

  @Test("A process that ends meanwhile is counted once, whenever it ends", arguments: 1...5)
  func endingMeanwhile(look: Int) throws {
    let server = Server(living: [11: 20, 12: 30], ending: [look: 12])
    #expect(try server.seconds() == 7.55)
  }

  @Test("So is one that ends while they are looked at again")
  func endingAgain() throws {
    let server = Server(living: [11: 20, 12: 30], ending: [5: 12, 8: 11])
    #expect(try server.seconds() == 7.55)
  }

  @Test("A server whose processes never stop ending is an error, and not a program that hangs")
  func endless() {
    var ended: UInt64 = 0
    #expect(throws: BenchmarkError.self) {
      try ServerMeter(postmaster: 10).seconds(
        status: { _ in
          ended += 1
          return ProcessFiles.Status(parent: 1, ticks: 0, ticksOfEnded: ended)
        }, processes: { [] })
    }
  }

  @Test("A server that is gone is an error")
  func gone() {
    #expect(throws: BenchmarkError.self) {
      try ServerMeter(postmaster: 10).seconds(status: { _ in nil }, processes: { [] })
    }
  }
}
