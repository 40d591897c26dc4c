import Foundation
import TestSupport
import Testing

@Suite("scripts/bench --help")
struct HelpTests {
  @Test("prints without building", arguments: ["--help", "-h"])
  func help(option: String) async throws {
    let folder = try TemporaryFolder()
    // The only programs that it finds: a build would need more, and would say so.
    for name in ["bash", "dirname", "sed", "env"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path(name), withDestinationPath: "/usr/bin/\(name)")
    }
    let program = try RunningProgram(
      "/bin/bash", [packagePath("scripts/bench"), "--quick", option], environment: ["PATH": folder.path])
    let ended = await program.ended()
    #expect(ended.status == 0)
    #expect(ended.errors == "")
    let text = String(decoding: ended.output, as: UTF8.self)
    for option in ["--peers", "--quick", "--only", "--runs", "--size", "--json", "--list"] {
      #expect(text.contains("  \(option)"))
    }
  }
}
