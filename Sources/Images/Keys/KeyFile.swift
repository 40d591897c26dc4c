import Csodium
import Glibc
import Support

/// The file that holds the keys. Reads and writes block: call them where a thread may wait.
public enum KeyFile {
  /// Reads a key file by the rules of every file with a secret: it belongs to this user or to root, and nobody else may
  /// read it. A bare name is looked for among the service manager's credentials first.
  ///
  /// The text passes through ordinary memory once; the keys stay in memory that is zeroed after use.
  ///
  /// - Throws: `file`, `syntax` or `unavailable`.
  public static func read(
    _ path: String, environment: [String: String] = [:]
  ) throws(ImageEncryptionError) -> KeyRing {
    let secret: Secret
    do throws(SystemError) {
      secret = try SecretFile.read(path, environment: environment)
    } catch {
      throw ImageEncryptionError(error)
    }
    return try KeyRing(fileContent: secret.bytes, path: path)
  }

  /// Adds a new key to a file and makes it the current one. A file that is not there is made, with mode 0600; it appears
  /// whole or not at all.
  ///
  /// - Parameter moment: When that is, in seconds since 1970.
  /// - Returns: What the file has now.
  /// - Throws: `file`, `syntax` or `unavailable`.
  public static func addKey(_ path: String, at moment: Double) throws(ImageEncryptionError) -> KeyRing {
    try change(path) { ring throws(ImageEncryptionError) in
      guard var ring else { return try KeyRing(at: moment) }
      try ring.addKey(at: moment)
      return ring
    }
  }

  /// Takes a key out of a file.
  ///
  /// - Returns: What the file has now.
  /// - Throws: `file`, `syntax`, `noKey`, or `inUse` for the current key.
  public static func removeKey(_ id: KeyID, from path: String) throws(ImageEncryptionError) -> KeyRing {
    try change(path) { ring throws(ImageEncryptionError) in
      guard var ring else { throw ImageEncryptionError.noKey(id) }
      try ring.removeKey(id)
      return ring
    }
  }

  /// Replaces a file by what the closure makes of its keys; nil stands for no file.
  private static func change(
    _ path: String, _ body: (KeyRing?) throws(ImageEncryptionError) -> KeyRing
  ) throws(ImageEncryptionError) -> KeyRing {
    try Sodium.prepare()
    let folder = try lock(path)
    defer { close(folder) }
    let ring = try body(access(path, F_OK) == 0 ? try read(path) : nil)
    var content = ring.fileContent()
    defer { content.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) } }
    do throws(SystemError) {
      var file = try AtomicFile(path)
      try file.write(content)
      _ = try file.commit()
    } catch {
      throw ImageEncryptionError(error)
    }
    return ring
  }

  /// One at a time changes a file, or of two new keys one would be lost. Its folder is locked, since the file itself is
  /// replaced; the lock goes with the descriptor.
  private static func lock(_ path: String) throws(ImageEncryptionError) -> Int32 {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ImageEncryptionError(
        .file, "The key file: the folder \(folder) cannot be opened: \(String(cString: strerror(errno))).",
        advice: "Make the folder, and see that you may write into it.")
    }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else {
        let message = String(cString: strerror(errno))
        close(descriptor)
        throw ImageEncryptionError(.file, "The key file: the folder \(folder) cannot be locked: \(message).")
      }
    }
    return descriptor
  }
}

/// Files that are encrypted like images: under a random key of their own each, which is encrypted under the current key
/// and stands in the file itself. A file is the number of that key (8 bytes, the highest first), the file's own key and
/// the content.
extension KeyRing {
  /// By how many bytes a file is longer than its content.
  static let fileOverhead = idBytes + WrappedKey.byteCount + AEAD.overhead

  private static let idBytes = 8

  /// The bytes of a file that holds a content.
  ///
  /// - Parameter name: What the file is for: it opens for the same name alone, so that no file can be put in the place
  ///   of another.
  /// - Throws: `noKey` or `unavailable`.
  public func encryptFile(_ content: [UInt8], name: String) throws(ImageEncryptionError) -> [UInt8] {
    let encrypted = try encrypt(content, bound: FileBinding(name: name))
    let id = withUnsafeBytes(of: encrypted.key.keyID.value.bigEndian) { Array($0) }
    return id + encrypted.key.bytes + encrypted.bytes
  }

  /// The content of a file.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when the file was changed or is for another name.
  public func openFile(_ file: [UInt8], name: String) throws(ImageEncryptionError) -> [UInt8] {
    guard let id = Self.keyID(ofFile: file) else { throw .changedFile }
    let binding = FileBinding(name: name)
    let contentStart = Self.idBytes + WrappedKey.byteCount
    let key = WrappedKey(keyID: id, bytes: Array(file[Self.idBytes..<contentStart]))
    let content = try withOwnKey(key, binding) { own in
      file.withUnsafeBytes {
        AEAD.open(UnsafeRawBufferPointer(rebasing: $0[contentStart...]), key: own, context: binding.ofBytes)
      }
    }
    guard let content = content ?? nil else { throw .changedFile }
    return content
  }

  /// The number of the key that a file wants; nil for what is no such file.
  public static func keyID(ofFile file: [UInt8]) -> KeyID? {
    guard file.count >= fileOverhead else { return nil }
    return KeyID(file[..<idBytes].reduce(0) { $0 << 8 | Int64($1) })
  }
}

extension ImageEncryptionError {
  fileprivate static let changedFile = ImageEncryptionError(
    .tampered, "An encrypted file does not open: it was changed, cut off or put in the place of another.",
    advice: "Remove the file.")
}
