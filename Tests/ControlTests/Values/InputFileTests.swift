import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("A file that was named is read")
struct InputFileTests {
  private func fault(_ path: String, limit: Int = 100) -> InputFile.Fault? {
    do {
      _ = try InputFile.read(path, limit: limit)
      return nil
    } catch {
      return error
    }
  }

  @Test("whole, whatever its size", arguments: [0, 1, 262_143, 262_144, 262_145, 600_000])
  func whole(size: Int) throws {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let files = try TemporaryFolder(["x": bytes])
    #expect(try InputFile.read(files.path("x"), limit: 600_000) == bytes)
  }

  @Test("but not one byte over the limit")
  func limit() throws {
    let files = try TemporaryFolder(["x": [UInt8](repeating: 1, count: 101)])
    #expect(fault(files.path("x"), limit: 101) == nil)
    #expect(fault(files.path("x"))?.code == "file_too_large")
    #expect(fault(files.path("x"))?.sentence == "The file has 101 bytes; at most 100 are accepted.")
  }

  @Test("and not what is no file")
  func noFile() throws {
    let files = try TemporaryFolder(["below/x": []])
    #expect(fault(files.path("below"))?.sentence == "It is a folder.")
    #expect(fault(files.path("missing"))?.sentence == "It cannot be read: No such file or directory.")
    #expect(mkfifo(files.path("pipe"), 0o600) == 0)
    #expect(fault(files.path("pipe"))?.sentence == "It is not a regular file.")
  }

  @Test("a stream is read to its end, and not beyond the limit")
  func stream() throws {
    let pipe = Pipe()
    pipe.fileHandleForWriting.write(Data([1, 2, 3]))
    try pipe.fileHandleForWriting.close()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    #expect(try InputFile.read(descriptor: descriptor, name: "input", limit: 3) == [1, 2, 3])

    let longer = Pipe()
    longer.fileHandleForWriting.write(Data([1, 2, 3, 4]))
    try longer.fileHandleForWriting.close()
    #expect(
      throws: CommandFailure(
        .unreadableInput, "input: The file has more than 3 bytes; at most 3 are accepted.")
    ) {
      try InputFile.read(descriptor: longer.fileHandleForReading.fileDescriptor, name: "input", limit: 3)
    }
  }
}
