import Foundation
import TestSupport
import Testing

@Suite("scripts/bench --help")
struct HelpTests {
  @Test("prints without building", arguments: ["--help", "-h"])
  func help(option: String) async throws {
    let ended = try await bench("--quick", option)
    #expect(ended.status == 0)
    #expect(ended.errors == "")
    let text = String(decoding: ended.output, as: UTF8.self)
    for option in [
      "--peers", "--only-peers", "--quick", "--only", "--runs", "--size", "--json", "--list", "--postgres",
    ] {
      #expect(text.contains("  \(option)"))
    }
  }

  @Test("a server that is none is refused before anything is built")
  func server() async throws {
    let folder = try TemporaryFolder()
    let missing = try await bench("--quick", "--postgres", folder.path)
    #expect(missing.status == 64)
    #expect(
      missing.errors == "initdb, pg_ctl and postgres are not in \(folder.path), nor in its folder bin.\n")
    let unnamed = try await bench("--postgres")
    #expect(unnamed.status == 64)
    #expect(unnamed.errors.contains("wants the folder of a PostgreSQL server"))
  }

  private func bench(_ arguments: String...) async throws -> RunningProgram.Ended {
    let folder = try TemporaryFolder()
    // The only programs that it finds: a build would need more, and would say so.
    for name in ["bash", "dirname", "sed", "env"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path(name), withDestinationPath: "/usr/bin/\(name)")
    }
    let program = try RunningProgram(
      "/bin/bash", [packagePath("scripts/bench")] + arguments, environment: ["PATH": folder.path])
    return await program.ended()
  }
}
