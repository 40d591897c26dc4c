import BenchmarkKit
import BenchmarkRows
import TestSupport
import Testing

@testable import CommandLineTool

struct PeerProgramTests {
  @Test("All peers are measured, or those that are wanted, in their own order")
  func wanted() {
    #expect(PeerProgram(python: "p", program: "r").names == PeerProgram.names)
    let some = PeerProgram(python: "p", program: "r", wanted: ["river", "pgqueuer"])
    #expect(some.names == ["pgqueuer", "river"])
    #expect(some.leftOut.isEmpty)
  }

  @Test("A peer that there is no program for is left out, and that is said of those that are wanted only")
  func missing() {
    let all = PeerProgram(python: "p", program: "r", missing: ["river"])
    #expect(all.names == PeerProgram.names.filter { $0 != "river" })
    #expect(all.leftOut == ["river"])
    #expect(PeerProgram(python: "p", program: "r", wanted: ["awa"], missing: ["river"]).leftOut.isEmpty)
  }

  @Test("A peer that is not known is refused", arguments: ["rivers", "awa,rivers", "awa, river"])
  func unknown(names: String) async {
    let output = MemoryWriter()
    let messages = MemoryWriter()
    let code = await Tool(BenchmarkCommand.command, version: "1").run(
      ["--quick", "--only", "drain", "--only-peers", names], environment: [:],
      console: Console(output: output, messages: messages))
    #expect(code == .usage)
    #expect(messages.text.contains("There is no peer"))
    #expect(messages.text.contains("procrastinate, pgqueuer, awa, river"))
  }
}
