import TestSupport
import Testing

@Suite("analysisctl migrate, by the real executable")
struct MigrateTests {
  @Test("A first and a second run are silent on standard error")
  func silent() async throws {
    try await withTestDatabase { database in
      for _ in 0..<2 {
        let ended = try await Executable(
          "analysisctl", ["migrate"], environment: ["ANALYSIS_DATABASE": database.conninfo]
        ).ended()
        #expect(ended.code == 0)
        #expect(ended.messages == "")
      }
    }
  }
}
