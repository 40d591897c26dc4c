import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("A private folder")
struct PrivateFolderTests {
  private func mode(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
  }

  @Test("is made for its owner alone, and found again")
  func made() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/private"
    for _ in 0..<2 { try PrivateFolder.prepare(path) }
    #expect(mode(path) == 0o700)
  }

  @Test("is refused where others may look into it", arguments: [0o750, 0o705, 0o777, 0o710] as [mode_t])
  func open(mode: mode_t) throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/private"
    try PrivateFolder.prepare(path)
    chmod(path, mode)
    let error = #expect(throws: SystemError.self) { try PrivateFolder.prepare(path) }
    #expect(error?.code == .notPrivate)
    #expect(error?.description.contains("run 'chmod 700' on it") == true)
  }

  @Test("is not a file, not a link, and not below what is not there")
  func others() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("x", to: "file")
    #expect(throws: SystemError.self) { try PrivateFolder.prepare(file) }
    symlink(folder.path, "\(folder.path)/link")
    for link in ["link", "link/", "link//"] {
      #expect(throws: SystemError.self) { try PrivateFolder.prepare("\(folder.path)/\(link)") }
    }
    let error = #expect(throws: SystemError.self) { try PrivateFolder.prepare("\(folder.path)/a/b") }
    #expect(error?.code == .unwritable)
  }

  @Test("is looked for without being made, and then held to the same")
  func looked() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/private"
    for absent in [path, "\(folder.path)/a/b"] { #expect(try !PrivateFolder.isThere(absent)) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    try PrivateFolder.prepare(path)
    #expect(try PrivateFolder.isThere(path))
    symlink(path, "\(folder.path)/link")
    for link in ["link", "link/"] {
      #expect(throws: SystemError.self) { try PrivateFolder.isThere("\(folder.path)/\(link)") }
    }
    chmod(path, 0o750)
    let error = #expect(throws: SystemError.self) { try PrivateFolder.isThere(path) }
    #expect(error?.code == .notPrivate)
  }
}
