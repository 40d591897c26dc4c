import Foundation
import TestSupport
import Testing

@testable import Images
@testable import Support

@Suite("A key file")
struct KeyFileTests {
  @Test("is made for its owner alone, with one key that is the current one")
  func made() throws {
    let file = try KeyFileOfTest()
    let ring = try KeyFile.read(file.path)
    #expect(ring.keys.count == 1 && ring.ids == [ring.currentID])
    #expect(ring.keys[0].createdAt == 1_790_000_000)
    #expect(try file.mode == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: file.folder.url.path) == ["image.keys"])
  }

  @Test("is lines that a person can read")
  func lines() throws {
    let file = try KeyFileOfTest(2)
    let ring = try KeyFile.read(file.path)
    let lines = try file.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines.count == 4 && lines[0] == "current = \(ring.ids[1])")
    #expect(lines[1].hasPrefix("hash = "))
    #expect(lines[2].hasPrefix("key = \(ring.ids[0]) 2026-09-21T14:13:20.000Z "))
    #expect(lines[3].hasPrefix("key = \(ring.ids[1]) 2026-09-21T14:13:21.000Z "))
    for line in lines.dropFirst() {
      let digits = try #require(line.split(separator: " ").last)
      #expect(digits.count == 64 && digits.allSatisfy { "0123456789abcdef".contains($0) })
    }
  }

  @Test("a new key is the current one, and those before stay")
  func added() throws {
    let file = try KeyFileOfTest()
    let before = try KeyFile.read(file.path)
    let after = try KeyFile.addKey(file.path, at: 5)
    #expect(after.ids.count == 2 && after.ids[0] == before.currentID && after.currentID == after.ids[1])
    #expect(try KeyFile.read(file.path).ids == after.ids)
    #expect(try file.mode == 0o600)
  }

  @Test("keys that are made at once are all in it")
  func together() async throws {
    let file = try KeyFileOfTest()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { _ = try? KeyFile.addKey(file.path, at: 1) }
      }
    }
    #expect(try KeyFile.read(file.path).keys.count == 9)
  }

  @Test("a key can be taken out, but not the current one and none that is not there")
  func removed() throws {
    let file = try KeyFileOfTest(2)
    let ring = try KeyFile.read(file.path)
    let current = #expect(throws: ImageEncryptionError.self) {
      try KeyFile.removeKey(ring.currentID, from: file.path)
    }
    #expect(current?.code == .inUse)
    let left = try KeyFile.removeKey(ring.ids[0], from: file.path)
    #expect(left.ids == [ring.currentID])
    let gone = #expect(throws: ImageEncryptionError.self) {
      try KeyFile.removeKey(ring.ids[0], from: file.path)
    }
    #expect(gone?.code == .noKey)
    #expect(try KeyFile.read(file.path).ids == [ring.currentID])
  }

  @Test("that others can read is refused", arguments: [0o640, 0o604, 0o660, 0o644])
  func mode(mode: Int) throws {
    let file = try KeyFileOfTest()
    try file.write(try file.text, mode: mode)
    let read = #expect(throws: ImageEncryptionError.self) { try KeyFile.read(file.path) }
    #expect(read?.code == .file && read?.underlying?.code == .notPrivate)
    let changed = #expect(throws: ImageEncryptionError.self) { try KeyFile.addKey(file.path, at: 0) }
    #expect(changed?.underlying?.code == .notPrivate)
  }

  @Test("that is read-only is as good, and a bare name is looked for among the service's credentials")
  func places() throws {
    let file = try KeyFileOfTest()
    try file.write(try file.text, mode: 0o400)
    let ring = try KeyFile.read(file.path)
    let environment = ["CREDENTIALS_DIRECTORY": file.folder.url.path]
    #expect(try KeyFile.read("image.keys", environment: environment).ids == ring.ids)
    let missing = #expect(throws: ImageEncryptionError.self) { try KeyFile.read(file.path + "x") }
    #expect(missing?.underlying?.code == .unreadable)
  }

  @Test("in a folder that is not there cannot be made")
  func noFolder() throws {
    let file = try KeyFileOfTest(0)
    let error = #expect(throws: ImageEncryptionError.self) {
      try KeyFile.addKey(file.folder.path("none/image.keys"), at: 0)
    }
    #expect(error?.code == .file)
  }

  /// A change of a file's text, and the words of the error that it leads to.
  struct Damage: Sendable, CustomTestStringConvertible {
    let name: String
    let words: String
    let change: @Sendable (String) -> String
    var testDescription: String { name }
  }

  static let damages: [Damage] = [
    Damage(name: "empty of keys", words: "does not name one of its keys") { _ in "# nothing\n\n" },
    Damage(name: "no current key", words: "does not name one of its keys") {
      $0.replacingOccurrences(of: "current = ", with: "# ")
    },
    Damage(name: "a current key that is not there", words: "does not name one of its keys") {
      $0.replacingOccurrences(
        of: "current = [0-9a-f]{16}", with: "current = 0000000000000001",
        options: .regularExpression)
    },
    Damage(name: "two current keys", words: "a second time") { $0 + "current = 0000000000000001\n" },
    Damage(name: "a current key that is no number", words: "16 hexadecimal digits") {
      $0.replacingOccurrences(
        of: "current = [0-9a-f]{16}", with: "current = 5",
        options: .regularExpression)
    },
    Damage(name: "another line", words: "is none of") { $0 + "password = hunter2\n" },
    Damage(name: "a key twice", words: "is there before") { text in
      text + (text.split(separator: "\n").last.map(String.init) ?? "") + "\n"
    },
    Damage(name: "a key cut off", words: "has no key of 64") { String($0.dropLast(2)) },
    Damage(name: "a key of hashes cut off", words: "has no key of 64") {
      $0.replacingOccurrences(of: "hash = [0-9a-f]{2}", with: "hash = ", options: .regularExpression)
    },
    Damage(name: "a key with a letter", words: "has no key of 64") { String($0.dropLast(2)) + "g\n" },
    Damage(name: "a digit changed", words: "do not belong together") {
      String($0.dropLast(2)) + ($0.dropLast().hasSuffix("0") ? "1\n" : "0\n")
    },
    Damage(name: "another time", words: "has no time") {
      $0.replacingOccurrences(of: "2026-09-21T", with: "yesterday")
    },
    Damage(name: "another number", words: "do not belong together") {
      $0.replacingOccurrences(
        of: "key = [0-9a-f]{16}", with: "key = 0000000000000001",
        options: .regularExpression)
    },
  ]

  @Test("that is damaged is refused by its line, and no word of it is shown", arguments: damages)
  func damaged(damage: Damage) throws {
    let file = try KeyFileOfTest()
    let text = try file.text
    let digits = try #require(text.split(separator: " ").last.map { String($0.prefix(40)) })
    try file.write(damage.change(text))
    let error = try #require(throws: ImageEncryptionError.self) { try KeyFile.read(file.path) }
    #expect(error.code == .syntax && error.message.contains(damage.words), "\(error)")
    for secret in [digits, "hunter2", "yesterday"] { #expect(!error.shown.contains(secret)) }
    // It is not written over either.
    #expect(throws: ImageEncryptionError.self) { try KeyFile.addKey(file.path, at: 0) }
    #expect(try file.text == damage.change(text))
  }

  @Test("takes comments, empty lines, tabs and the line ends of other systems")
  func lenient() throws {
    let file = try KeyFileOfTest(2)
    let ring = try KeyFile.read(file.path)
    let text = try file.text.replacingOccurrences(of: "\n", with: "\r\n")
      .replacingOccurrences(of: " = ", with: "\t=  ")
    try file.write("\n# kept in the safe\n" + text + "\n\n")
    let read = try KeyFile.read(file.path)
    #expect(read.ids == ring.ids && read.currentID == ring.currentID)
  }

  private static let image: [UInt8] = Array("a picture".utf8)

  @Test("hashes images under a key of its own, which stays when keys come and go")
  func hashing() throws {
    let file = try KeyFileOfTest()
    let first = try KeyFile.read(file.path)
    let hash = first.imageHash(of: Self.image)
    #expect(hash.count == 32 && hash != SHA256.digest(of: Self.image))
    let second = try KeyFile.addKey(file.path, at: 5)
    #expect(second.imageHash(of: Self.image) == hash)
    _ = try KeyFile.removeKey(first.currentID, from: file.path)
    let left = try KeyFile.read(file.path)
    #expect(left.ids == [second.currentID] && left.imageHash(of: Self.image) == hash)
    // Another file has another key.
    let otherFile = try KeyFileOfTest()
    let other = try KeyFile.read(otherFile.path)
    #expect(other.imageHash(of: Self.image) != hash)
  }

  @Test("without a key of hashes has the one of its first key, and writes it down with the next change")
  func derived() throws {
    let file = try KeyFileOfTest(2)
    let ring = try KeyFile.read(file.path)
    let hash = ring.imageHash(of: Self.image)
    let without = try file.text.replacingOccurrences(
      of: "hash = [0-9a-f]{64}\n", with: "", options: .regularExpression)
    try file.write(without)
    #expect(try KeyFile.read(file.path).imageHash(of: Self.image) == hash)
    _ = try KeyFile.removeKey(ring.ids[0], from: file.path)
    #expect(try KeyFile.read(file.path).imageHash(of: Self.image) == hash)
  }

  @Test("hashes as before when lines of another file are put into it by hand", arguments: ["hash", "key"])
  func merged(line: String) throws {
    let (file, other) = (try KeyFileOfTest(), try KeyFileOfTest())
    let own = try KeyFile.read(file.path).imageHash(of: Self.image)
    let moved = try other.text.split(separator: "\n").filter { $0.hasPrefix("\(line) = ") }
    try file.write(try file.text + moved.joined(separator: "\n") + "\n")
    #expect(try KeyFile.read(file.path).imageHash(of: Self.image) == own)
  }

  @Test("and its keys show themselves nowhere")
  func redacted() throws {
    let file = try KeyFileOfTest()
    let ring = try KeyFile.read(file.path)
    var dumped = ""
    dump(ring, to: &dumped)
    dump(ring.keys, to: &dumped)
    let shown =
      "\(ring) \(String(reflecting: ring)) \(ring.keys) \(ring.keys[0]) \(String(reflecting: ring.keys[0])) \(dumped)"
    #expect(shown.contains("<redacted>"))
    let digits = try #require(try file.text.split(separator: " ").last)
    #expect(!shown.contains(digits.prefix(8)) && !shown.contains("0x"))
  }

  @Test("a key's number has 16 hexadecimal digits, and nothing else is one")
  func numbers() throws {
    let id = try #require(KeyID(0x0123_4567_89AB_CDEF))
    #expect("\(id)" == "0123456789abcdef" && KeyID(text: "\(id)") == id)
    #expect(KeyID(1)?.description == "0000000000000001")
    for text in [
      "", "1", "0123456789ABCDEF", "+123456789abcdef", "0123456789abcdef0", "8000000000000000",
      "0000000000000000",
    ] {
      #expect(KeyID(text: text) == nil, "\(text)")
    }
    #expect(KeyID(0) == nil && KeyID(-1) == nil)
  }
}
