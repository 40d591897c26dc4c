import Testing

@testable import Images
@testable import Support

@Suite("An encrypted file")
struct EncryptedFileTests {
  private let ring: KeyRing

  init() throws {
    ring = try KeyRing(at: 0)
  }

  @Test("comes back as it was, whatever its size", arguments: [0, 1, 100, 1_000_000])
  func roundTrip(count: Int) throws {
    let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let file = try ring.encryptFile(content, name: "a")
    #expect(file.count == count + KeyRing.fileOverhead && KeyRing.fileOverhead == 120)
    #expect(KeyRing.keyID(ofFile: file) == ring.currentID)
    #expect(try ring.openFile(file, name: "a") == content)
  }

  @Test("is another each time, and shows nothing of its content")
  func hidden() throws {
    let content = [UInt8](repeating: 0xAB, count: 4096)
    let (one, other) = (try ring.encryptFile(content, name: "a"), try ring.encryptFile(content, name: "a"))
    // But for the number of the key.
    #expect(zip(one, other).dropFirst(8).filter { $0 == $1 }.count < 200)
    #expect(one.firstRange(of: [UInt8](repeating: 0xAB, count: 8)) == nil)
  }

  @Test("does not open for another name, cut off anywhere, longer, or with a bit changed")
  func tampered() throws {
    let file = try ring.encryptFile([1, 2, 3], name: "a")
    var others = file.indices.map { Array(file[..<$0]) } + [file + [0]]
    // A change of the first bytes names another key.
    others += file.indices.dropFirst(8).map { place in
      var changed = file
      changed[place] ^= 4
      return changed
    }
    for other in others {
      let error = #expect(throws: ImageEncryptionError.self) { try ring.openFile(other, name: "a") }
      #expect(error?.code == .tampered)
    }
    for name in ["b", "", "A", "a\u{0}"] {
      let error = #expect(throws: ImageEncryptionError.self) { try ring.openFile(file, name: name) }
      #expect(error?.code == .tampered)
    }
  }

  @Test("opens under the keys of before, and names the key that is missing")
  func keys() throws {
    let file = try ring.encryptFile([1, 2, 3], name: "a")
    var newer = ring
    try newer.addKey(at: 1)
    #expect(try newer.openFile(file, name: "a") == [1, 2, 3])
    #expect(KeyRing.keyID(ofFile: try newer.encryptFile([1], name: "a")) == newer.currentID)
    try newer.removeKey(ring.currentID)
    let error = #expect(throws: ImageEncryptionError.self) { try newer.openFile(file, name: "a") }
    #expect(error?.code == .noKey)
    #expect(error?.message.contains("\(ring.currentID)") == true)
  }

  @Test("is never an image, nor an image a file")
  func kinds() throws {
    let content: [UInt8] = [1, 2, 3]
    let binding = ImageBinding(user: "a", sha256: SHA256.digest(of: content))
    let image = try ring.encrypt(content, binding)
    let file = try ring.encryptFile(content, name: "a")
    let asFile = Array(file[..<8]) + image.key.bytes + image.bytes
    #expect(throws: ImageEncryptionError.self) { try ring.openFile(asFile, name: "a") }
    let key = WrappedKey(keyID: ring.currentID, bytes: Array(file[8..<80]))
    let error = file[80...].withUnsafeBytes { bytes in
      #expect(throws: ImageEncryptionError.self) { try ring.open(bytes, key, binding) }
    }
    #expect(error?.code == .tampered)
  }
}
