import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("A file that only grows")
struct AppendedFileTests {
  @Test("takes line after line, and is read by whom it belongs to")
  func appended() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("old\n", to: "lines")
    try AppendedFile.append("one", to: path)
    try AppendedFile.append("two", to: path)
    #expect(try folder.text("lines") == "old\none\ntwo\n")
    #expect(try AppendedFile.lines(of: path, owner: geteuid()) == ["old", "one", "two"])
  }

  @Test("is not made, not reached by a link, and neither a folder nor a pipe")
  func notMade() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("lines")
    let missing = #expect(throws: SystemError.self) { try AppendedFile.append("x", to: path) }
    #expect(missing?.code == .unwritable && missing?.isMissingFolder == true)
    #expect(!FileManager.default.fileExists(atPath: path))
    symlink(try folder.write("", to: "other"), folder.path("link"))
    mkfifo(folder.path("pipe"), 0o600)
    for name in ["link", "pipe", "."] {
      #expect(throws: SystemError.self, "\(name)") { try AppendedFile.append("x", to: folder.path(name)) }
    }
    #expect(try folder.text("other") == "")
  }

  @Test("is refused where every user may write it, by who appends and by who reads")
  func open() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("one\n", to: "lines", mode: 0o602)
    let appending = #expect(throws: SystemError.self) { try AppendedFile.append("x", to: path) }
    let reading = #expect(throws: SystemError.self) { try AppendedFile.lines(of: path, owner: geteuid()) }
    for error in [appending, reading] {
      #expect(error?.code == .notPrivate && error?.description.contains("run 'chmod o-w' on it") == true)
    }
    #expect(try folder.text("lines") == "one\n")
  }

  @Test("counts only for the user to whom it belongs")
  func owner() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("one\n", to: "lines")
    let error = #expect(throws: SystemError.self) { try AppendedFile.lines(of: path, owner: geteuid() + 1) }
    #expect(error?.code == .notPrivate)
    #expect(error?.description.contains("belongs to user \(geteuid())") == true)
  }

  @Test("that a group can write counts only where it cannot be shortened")
  func group() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("one\n", to: "lines", mode: 0o620)
    let error = #expect(throws: SystemError.self) { try AppendedFile.lines(of: path, owner: geteuid()) }
    #expect(error?.code == .notPrivate && error?.description.contains("chattr +a") == true)
    // Not every file system has the attribute, and not everybody may set it.
    guard try await HelperProgram.run("/usr/bin/chattr", ["+a", path]).status == 0 else { return }
    let lines = Result { try AppendedFile.lines(of: path, owner: geteuid()) }
    let appended = Result { try AppendedFile.append("two", to: path) }
    let truncated = truncate(path, 0)
    _ = try await HelperProgram.run("/usr/bin/chattr", ["-a", path])
    #expect(try lines.get() == ["one"])
    #expect(throws: Never.self) { try appended.get() }
    #expect(truncated != 0)
    #expect(try folder.text("lines") == "one\ntwo\n")
  }

  @Test("belongs to a user by name or by number")
  func users() {
    #expect(ProcessOwner.number(ofUser: "root") == 0)
    #expect(ProcessOwner.number(ofUser: "4711") == 4711)
    for name in ["", "-1", "no-such-user", "4294967296"] { #expect(ProcessOwner.number(ofUser: name) == nil) }
  }
}
