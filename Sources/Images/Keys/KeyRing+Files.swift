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
