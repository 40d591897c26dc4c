import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("A report that there is no room or no right to write")
struct ReportDiskTests {
  /// A disk of 64 kB for the report, and what is there afterwards.
  private struct Disk {
    let folder: TemporaryFolder
    /// What is done to it when it holds what it holds.
    let preparing: String

    /// Runs `analysisctl report` with the disk in place; its output is the disk's listing.
    func report(into name: String, _ environment: [String: String]) throws -> Executable {
      let folder = folder.url.path
      let script = """
        cd \(folder) && \(preparing) && { "$0" "$@"; code=$?; ls -A; cat usage.csv; exit $code; }
        """
      return try Executable(
        "analysisctl", ["report", "usage", "--format", "csv", "--out", "\(folder)/\(name)"],
        environment: environment.merging(["ON_THE_DISK": script]) { $1 },
        script: """
          exec unshare --mount --propagation private bash -c '
            mount -t tmpfs -o size=64k none \(folder) && printf old >\(folder)/usage.csv && eval "$ON_THE_DISK"
          ' "$0" "$@"
          """)
    }
  }

  private static let full = "{ cat /dev/zero >filler 2>/dev/null; true; }"

  @Test(
    "on a full disk says so, ends with 75, leaves nothing behind and the old file as it was",
    .needsMounting, arguments: ["usage.csv", "new.csv"])
  func fullDisk(name: String) async throws {
    try await Installation.with(jobs: 1) { installation in
      let disk = Disk(folder: try TemporaryFolder(), preparing: Self.full)
      let ended = await (try disk.report(into: name, installation.queue.environment)).ended()
      #expect(ended.code == 75, "\(ended.messages)")
      #expect(ended.messages.contains("No space left on device"), "\(ended.messages)")
      #expect(ended.messages.contains(name), "\(ended.messages)")
      #expect(ended.output == "filler\nusage.csv\nold")
    }
  }

  @Test(
    "on a read-only disk says so, ends with 77 and leaves the old file as it was", .needsMounting,
    arguments: ["usage.csv", "new.csv"])
  func readOnlyDisk(name: String) async throws {
    try await Installation.with(jobs: 1) { installation in
      let disk = Disk(folder: try TemporaryFolder(), preparing: "mount -o remount,ro .")
      let ended = await (try disk.report(into: name, installation.queue.environment)).ended()
      #expect(ended.code == 77, "\(ended.messages)")
      #expect(ended.messages.contains("Read-only file system"), "\(ended.messages)")
      #expect(ended.messages.contains(name), "\(ended.messages)")
      #expect(ended.output == "usage.csv\nold")
    }
  }

  @Test("to a standard output on a full disk says so and ends with 75")
  func fullOutput() async throws {
    try await Installation.with(jobs: 1) { installation in
      let ended = await
        (try Executable(
          "analysisctl", ["report", "usage", "--format", "csv"],
          environment: installation.queue.environment, script: "exec \"$0\" \"$@\" >/dev/full")).ended()
      #expect(ended.code == 75, "\(ended.messages)")
      #expect(ended.messages.contains("No space left on device"), "\(ended.messages)")
    }
  }
}
