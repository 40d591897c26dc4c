import Foundation
import TestSupport
import Testing

@testable import Images

@Suite("The lines of the README, by the real executables")
struct DocumentedRunTests {
  /// The block of the README that submits, works and reports.
  private static func lines() throws -> [String] {
    let readme = try String(contentsOfFile: packagePath("README.md"), encoding: .utf8)
    let block = readme.components(separatedBy: "\n```\n").first { $0.hasPrefix("analysisctl migrate\n") }
    return try #require(block).components(separatedBy: "\n")
  }

  @Test("take photos from an empty database to a report")
  func run() async throws {
    let lines = try Self.lines()
    #expect(lines.count == 11)
    let folder = try TemporaryFolder()
    let photos = folder.url.appendingPathComponent("photos")
    try FileManager.default.createDirectory(at: photos, withIntermediateDirectories: true)
    for name in ["throat-01.jpg", "throat-03.jpg"] {
      try Data(try await drawnPicture(name).bytes).write(to: photos.appending(path: name))
    }
    // Another port, since others may have a server on this one.
    let port = try FreePort.find()
    let script = lines.joined(separator: "\n").replacing("8080", with: "\(port)")
    try await withTestDatabase { database in
      let search = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      let program = try RunningProgram(
        "/bin/bash", ["-e", "-c", script],
        environment: [
          "PATH": "\(Executable.programs.path):\(search)", "ANALYSIS_DATABASE": database.conninfo,
        ], directory: folder.url)
      let ended = await program.ended()
      let output = String(decoding: ended.output, as: UTF8.self)
      #expect(ended.status == 0, "\(output)\n\(ended.errors)")
      let usage = try String(contentsOfFile: folder.path("usage.csv"), encoding: .utf8)
        .components(separatedBy: "\r\n").map { $0.components(separatedBy: ",") }
      let used = try #require(usage.first?.firstIndex(of: "used"))
      #expect(usage.dropFirst().first?[used] == "2")
    }
  }
}
