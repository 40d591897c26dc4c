internal import Images
internal import Support

/// How the files of a disk cache are called: by digests that nobody can tell without a random key, which lies beside
/// them and is encrypted too.
struct CacheNames {
  private let key: [UInt8]
  /// Whether the key is under the current one of the key file.
  let isCurrent: Bool

  /// Where the key lies.
  static let file = "names"
  private static let keyCount = 32

  /// The names of a folder; nil where their key is not there or cannot be opened.
  init?(in folder: CacheFolder, _ keys: KeyRing) {
    guard let file = folder.read(Self.file, limit: 4096),
      let key = try? keys.openFile(file, name: Self.binding(Self.file)), key.count == Self.keyCount
    else { return nil }
    self.key = key
    isCurrent = KeyRing.keyID(ofFile: file) == keys.currentID
  }

  private init(key: [UInt8]) {
    self.key = key
    isCurrent = false
  }

  /// Names that no folder has yet.
  static func random() -> CacheNames {
    CacheNames(key: (0..<keyCount).map { _ in UInt8.random(in: .min ... .max) })
  }

  func name(of url: String) -> String {
    Hexadecimal.text(of: SHA256.digest(of: key + Array(url.utf8)))
  }

  /// What a file is bound to: nothing else that is encrypted with these keys has such a name.
  static func binding(_ name: String) -> String { "remote-image \(name)" }

  /// Puts the key into a folder, under the current one of the key file.
  func store(in folder: CacheFolder, _ keys: KeyRing, now: Double) throws {
    try folder.write(Self.file, keys.encryptFile(key, name: Self.binding(Self.file)), stored: now)
  }
}
