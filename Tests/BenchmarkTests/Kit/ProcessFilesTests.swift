import BenchmarkKit
import Testing

struct ProcessFilesTests {
  private static let stat =
    "4711 (postgres: x (y) z) S 4700 4711 4711 0 -1 4194560 812 90 3 0 31 12 500 25 20 0 1 0 99 1 2 3"

  @Test("The ticks are found behind a name with spaces and brackets")
  func ticks() throws {
    let status = try #require(ProcessFiles.status(Self.stat))
    #expect(status.parent == 4700)
    #expect(status.ticks == 43)
    #expect(status.ticksOfEnded == 525)
  }

  @Test("What is no such text is none", arguments: ["", "4711 postgres S 1", "4711 (postgres) S 4700"])
  func nonsense(text: String) {
    #expect(ProcessFiles.status(text) == nil)
  }

  @Test("The memory and its peak are given in bytes")
  func memory() {
    let text = "Name:\tworker\nVmHWM:\t   30720 kB\nVmRSS:\t    2048 kB\n"
    #expect(ProcessFiles.peakMemory(text) == 31_457_280)
    #expect(ProcessFiles.memory(text) == 2_097_152)
    #expect(ProcessFiles.memory("Name:\tended\n") == nil)
  }
}
