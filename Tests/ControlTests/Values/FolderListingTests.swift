import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("A folder's images are listed")
struct FolderListingTests {
  @Test("by the bytes of their names; hidden files are left out, other files and folders named")
  func listing() throws {
    let files = try TemporaryFolder([
      "b.jpg": [], "B.JPG": [], "a.jpeg": [], "é.png": [], "10.jpg": [], "9.jpg": [], ".hidden.jpg": [],
      "notes.txt": [], "Makefile": [], "below/inner.jpg": [], "album.jpg/inner.jpg": [], "phone.heic": [],
    ])
    let listing = try FolderListing(files.path)
    let names = ["10.jpg", "9.jpg", "B.JPG", "a.jpeg", "b.jpg", "phone.heic", "é.png"]
    #expect(listing.images == names.map { files.path($0) })
    #expect(listing.others == ["Makefile", "notes.txt"])
    #expect(listing.folders == ["album.jpg", "below"])
  }

  @Test("a name that is not UTF-8 is listed and read; two such names stay apart")
  func notUTF8() throws {
    let files = try TemporaryFolder()
    for (byte, content) in [(UInt8(0xE9), "one"), (0xE8, "two")] {
      let path = Array(files.path("caf").utf8) + [byte] + Array(".jpg\0".utf8)
      let file = try #require(fopen(path.map { CChar(bitPattern: $0) }, "w"))
      fputs(content, file)
      fclose(file)
    }
    let listing = try FolderListing(files.path)
    #expect(listing.images.count == 2)
    let contents = try listing.images.map { try InputFile.read($0, limit: 100) }
    #expect(contents.map { String(decoding: $0, as: UTF8.self) } == ["two", "one"])
  }

  @Test("a slash at the end of the folder's name is not doubled")
  func slash() throws {
    let files = try TemporaryFolder(["a.jpg": []])
    #expect(try FolderListing(files.path + "/").images == [files.path("a.jpg")])
  }

  @Test("a folder that is not there is an input that cannot be read")
  func missing() throws {
    let files = try TemporaryFolder()
    do {
      _ = try FolderListing(files.path("nothing"))
      Issue.record("it was listed")
    } catch {
      #expect(error.exitCode.code == 66)
      #expect(error.message.contains("No such file or directory"))
    }
  }

  @Test("a link to a picture is a picture, a link to a folder is not")
  func links() throws {
    let files = try TemporaryFolder(["a.jpg": [1], "below/x.jpg": [2]])
    let manager = FileManager.default
    try manager.createSymbolicLink(atPath: files.path("link.png"), withDestinationPath: files.path("a.jpg"))
    try manager.createSymbolicLink(atPath: files.path("folder.png"), withDestinationPath: files.path("below"))
    #expect(try FolderListing(files.path).images == [files.path("a.jpg"), files.path("link.png")])
  }
}
