import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("Programs of the version before")
struct ReleasedTests {
  private func text(_ file: String) throws -> String {
    try String(contentsOfFile: packagePath("Tests/Released/\(file)"), encoding: .utf8)
  }

  @Test("find every function and view as they and back-ends use it", arguments: ["1.0"])
  func released(version: String) async throws {
    let before = try text("\(version).txt").split(separator: "\n").map(String.init)
    try #require(before.contains { $0.hasPrefix("claim(") })
    try await withQueue { queue async throws in
      let now = try await queue.texts(try text("interface.sql"))
      #expect(Set(before).subtracting(now).sorted() == [])
    }
  }
}
