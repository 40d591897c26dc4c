import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images

@Suite("Files whose names are not UTF-8, by the real executable")
struct SubmittedNameTests {
  @Test("are submitted in a folder and as an argument, and stored with U+FFFD in their names")
  func submitted() async throws {
    try await withQueue { queue in
      try await queue.addUser("u1")
      let folder = try TemporaryFolder()
      let (first, second) = (try await drawnPicture("throat-01.jpg"), try await drawnPicture("throat-03.jpg"))
      try Data(first.bytes).write(to: URL(fileURLWithPath: folder.path("first.jpg")))
      try Data(second.bytes).write(to: URL(fileURLWithPath: folder.path("second.jpg")))
      // The folder and the argument are spelled by the shell: Foundation passes no such bytes.
      let script = """
        set -e
        cd '\(folder.url.path)'
        mkdir $'f\\xf6lder'
        mv first.jpg $'f\\xf6lder/caf\\xe9.jpg'
        mv second.jpg $'caf\\xe8.jpg'
        exec "$0" "$@" $'f\\xf6lder' $'caf\\xe8.jpg'
        """
      let ended = try await Executable(
        "analysisctl", ["submit", "--user", "u1", "--type", "throat", "--json"],
        environment: queue.environment, script: script
      ).ended()
      #expect(ended.code == 0, "\(ended.messages)")
      let names = try await queue.pool.query("SELECT j.source_name FROM analysis.job j ORDER BY j.id")
        .map { try $0.string(0) }
      #expect(names == ["caf\u{FFFD}.jpg", "caf\u{FFFD}.jpg"])
      #expect(ended.output.contains("f\u{FFFD}lder/caf\u{FFFD}.jpg"))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 2)
    }
  }
}
