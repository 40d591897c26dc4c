import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("A file appears whole or not at all")
struct AtomicFileTests {
  @Test("what is written is there after the commit, and not before; its length and digest are told")
  func commit() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/report.csv"
    var file = try AtomicFile(path)
    try file.write("a")
    try file.write([UInt8](Array("bc".utf8)))
    #expect(!FileManager.default.fileExists(atPath: path))
    let written = try file.commit()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "abc")
    #expect(written.path == path)
    #expect(written.byteCount == 3)
    // The digest of "abc" of FIPS 180-4.
    #expect(written.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(try folder.names == ["report.csv"])
  }

  @Test("a file that need not be on the disk is there as whole")
  func unsynced() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/cached"
    var file = try AtomicFile(path, isSynced: false)
    try file.write("abc")
    #expect(!FileManager.default.fileExists(atPath: path))
    _ = try file.commit()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "abc")
    #expect(try folder.names == ["cached"])
  }

  @Test("an empty file is a file")
  func empty() throws {
    let folder = try TemporaryFolder()
    let written = try AtomicFile("\(folder.path)/empty").commit()
    #expect(written.byteCount == 0)
    #expect(written.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test("much is written in pieces and comes out in order")
  func large() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/large"
    var file = try AtomicFile(path)
    var expected: [UInt8] = []
    for number in 0..<30000 {
      let line = Array("\(number)\r\n".utf8)
      expected += line
      try file.write(line)
    }
    try file.write(expected)
    let written = try file.commit()
    #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == expected + expected)
    #expect(written.byteCount == 2 * expected.count)
  }

  @Test("a file that is dropped leaves what was there before, and nothing else")
  func dropped() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("old", to: "report.csv")
    struct Interrupted: Error {}
    func interrupted() throws {
      var file = try AtomicFile(path)
      try file.write(String(repeating: "x", count: 100_000))
      throw Interrupted()
    }
    #expect(throws: Interrupted.self) { try interrupted() }
    #expect(try folder.names == ["report.csv"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
  }

  @Test("an older file is replaced; one that was open keeps its bytes")
  func replaced() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("old", to: "report.csv", mode: 0o644)
    let reader = try #require(FileHandle(forReadingAtPath: path))
    var file = try AtomicFile(path)
    try file.write("new")
    _ = try file.commit()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
    #expect(try reader.readToEnd() == Data("old".utf8))
  }

  @Test("the permissions are those asked for", arguments: [UInt32(0o600), 0o640, 0o644])
  func mode(mode: UInt32) throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/file"
    _ = try AtomicFile(path, mode: mode).commit()
    let found = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(found == Int(mode))
  }

  @Test("a place that cannot be written to is told by name, and nothing is left")
  func refused() throws {
    let folder = try TemporaryFolder()
    for path in ["\(folder.path)/none/report.csv", "\(folder.path)/", ""] {
      let error = #expect(throws: SystemError.self) { _ = try AtomicFile(path) }
      #expect(error?.code == .unwritable)
      #expect(error?.path == path)
    }
    let blocked = "\(folder.path)/folder"
    try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
    #expect(throws: SystemError.self) { _ = try AtomicFile(blocked).commit() }
    #expect(try folder.names == ["folder"])
  }

  @Test("of a link the target is replaced, or made, and the link stays")
  func links() throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "data/1.csv")
    for (name, target) in [("latest.csv", "data/1.csv"), ("second", "latest.csv"), ("new", "data/2.csv")] {
      try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: target)
    }
    for (name, target) in [("second", "data/1.csv"), ("new", "data/2.csv")] {
      var file = try AtomicFile(folder.path(name))
      try file.write(name)
      _ = try file.commit()
      #expect(try folder.text(target) == name)
    }
    #expect(try folder.names == ["data", "latest.csv", "new", "second"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("new")) == "data/2.csv")
    #expect(try folder.names(in: "data") == ["1.csv", "2.csv"])
    try FileManager.default.createSymbolicLink(atPath: folder.path("ring"), withDestinationPath: "ring")
    #expect(throws: SystemError.self) { _ = try AtomicFile(folder.path("ring")) }
  }

  @Test("a pipe is written to and stays; one that nobody reads is refused")
  func pipe() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    #expect(throws: SystemError.self) { try AtomicFile.check(path) }
    let error = #expect(throws: SystemError.self) { _ = try AtomicFile(path) }
    #expect(error?.description.contains("is a pipe that nobody reads") == true)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    var file = try AtomicFile(path)
    try file.write("abc")
    let written = try file.commit()
    #expect(written.byteCount == 3)
    var bytes = [UInt8](repeating: 0, count: 10)
    #expect(read(reader, &bytes, bytes.count) == 3 && bytes.starts(with: Array("abc".utf8)))
    #expect(try !AtomicFile.isFile(path) && folder.names == ["pipe"])
  }

  @Test("a device is written to and stays one", .enabled(if: getuid() == 0, "needs root"))
  func device() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("null")
    try #require(mknod(path, S_IFCHR | 0o600, 0x0103) == 0)
    var file = try AtomicFile(path)
    try file.write("abc")
    _ = try file.commit()
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    #expect(try folder.names == ["null"])
  }

  @Test("what the process has open is written to where it is, as /dev/stdout leads to it")
  func opened() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("before ", to: "log")
    let descriptor = open(path, O_WRONLY | O_APPEND)
    defer { close(descriptor) }
    for name in ["/proc/self/fd/\(descriptor)", "/dev/fd/\(descriptor)"] {
      var file = try AtomicFile(name)
      try file.write("x")
      _ = try file.commit()
    }
    #expect(try folder.text("log") == "before xx")
  }

  @Test("a folder and a socket are refused, by a look too, which makes nothing")
  func others() throws {
    let folder = try TemporaryFolder()
    let socket = folder.path("socket")
    try #require(mknod(socket, S_IFSOCK | 0o600, 0) == 0)
    for path in [folder.path, socket, folder.path("none/file")] {
      #expect(throws: SystemError.self, "\(path)") { _ = try AtomicFile(path) }
      #expect(throws: SystemError.self, "\(path)") { try AtomicFile.check(path) }
    }
    try AtomicFile.check(folder.path("file"))
    #expect(try folder.names == ["socket"])
  }

  @Test("a name as long as names may be is written too")
  func longName() throws {
    let folder = try TemporaryFolder()
    let name = String(repeating: "n", count: 255)
    _ = try AtomicFile("\(folder.path)/\(name)").commit()
    #expect(try folder.names == [name])
  }

  @Test("that is not in its place yet has a name by which it is known")
  func unfinished() throws {
    let folder = try TemporaryFolder()
    let file = try AtomicFile("\(folder.path)/\(String(repeating: "a", count: 64))")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 1 && names.allSatisfy(AtomicFile.isUnfinished))
    _ = try file.commit()
    let others =
      try FileManager.default.contentsOfDirectory(atPath: folder.path) + [".tmp", "1a.tmp", ".1A.tmp"]
    #expect(!others.contains(where: AtomicFile.isUnfinished))
  }
}
