import Csodium
import FoundationEssentials
import Support

/// The form of a key file: lines of `key = number time digits`, one of `current = number`, and those of `hash = digits`.
/// Where no key of hashes is written down, it is the one that follows from the first key; it is written down with the
/// next change, so that it stays when that key goes.
extension KeyRing {
  private static let header = """
    # Keys of the images in the analysis queue's database, kept by 'analysisctl keys'. Whoever has this file and the
    # database can see the images, and without it nobody can: keep copies, apart from those of the database.

    """

  /// The file's bytes, to be zeroed by whoever has written them.
  func fileContent() -> [UInt8] {
    var content = Array("\(Self.header)current = \(currentID)\n".utf8)
    // Room for everything at once: a growing array would leave copies behind.
    content.reserveCapacity(content.count + (keys.count + hashKeys.count) * 160)
    for key in hashKeys {
      content.append(contentsOf: "hash = ".utf8)
      Self.append(key.memory, to: &content)
    }
    for key in keys {
      let time = UnixTime(seconds: Int64(key.createdAt)).rfc3339
      content.append(contentsOf: "key = \(key.id) \(time) ".utf8)
      Self.append(key.memory, to: &content)
    }
    return content
  }

  private static func append(_ key: KeyMemory, to content: inout [UInt8]) {
    key.withKey { bytes in
      for index in 0..<AEAD.keyBytes {
        content.append(digit(bytes[index] >> 4))
        content.append(digit(bytes[index] & 15))
      }
    }
    content.append(UInt8(ascii: "\n"))
  }

  /// Without a table, so that which digits there are shows in no cache.
  private static func digit(_ value: UInt8) -> UInt8 {
    value &+ 48 &+ ((9 &- value) >> 7) &* 39
  }

  /// Reads a file's bytes. An error names the line and nothing of what is in it.
  ///
  /// - Throws: `syntax` or `unavailable`.
  init(fileContent: [UInt8], path: String) throws(ImageEncryptionError) {
    var keys: [WrappingKey] = []
    var hashKeys: [HashKey] = []
    var current: KeyID?
    for (index, line) in fileContent.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .enumerated()
    {
      let location = "\(path):\(index + 1)"
      let fields = line.split {
        $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
      }
      guard let first = fields.first, first.first != UInt8(ascii: "#") else { continue }
      switch (Self.text(first), fields.count, fields.dropFirst().first.map(Self.text)) {
      case ("current", 3, "="):
        guard current == nil else { throw Self.fault(location, "names a current key a second time") }
        guard let id = KeyID(text: Self.text(fields[2])) else {
          throw Self.fault(location, "does not name a key by 16 hexadecimal digits")
        }
        current = id
      case ("key", 5, "="):
        let key = try Self.key(fields[2], fields[3], fields[4], location)
        guard !keys.contains(where: { $0.id == key.id }) else {
          throw Self.fault(location, "has a key that is there before")
        }
        keys.append(key)
      case ("hash", 3, "="):
        hashKeys.append(HashKey(try Self.memory(fields[2], location)))
      default:
        throw Self.fault(
          location, "is none of 'current = NUMBER', 'hash = DIGITS' and 'key = NUMBER TIME DIGITS'")
      }
    }
    guard let current, let first = keys.first, keys.contains(where: { $0.id == current }) else {
      throw Self.fault(path, "does not name one of its keys as the current one")
    }
    if hashKeys.isEmpty { hashKeys.append(try HashKey(from: first)) }
    self.init(keys: keys, current: current, hashKeys: hashKeys)
  }

  private static func key(
    _ number: ArraySlice<UInt8>, _ time: ArraySlice<UInt8>, _ digits: ArraySlice<UInt8>, _ location: String
  ) throws(ImageEncryptionError) -> WrappingKey {
    guard let id = KeyID(text: text(number)) else {
      throw fault(location, "does not name its key by 16 hexadecimal digits")
    }
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard
      let created = (try? Date(text(time), strategy: style)) ?? (try? Date(text(time), strategy: .iso8601))
    else { throw fault(location, "has no time such as 2026-10-01T08:00:00Z") }
    guard let key = WrappingKey(try memory(digits, location), createdAt: created.timeIntervalSince1970),
      key.id == id
    else {
      throw fault(location, "has a key and a number that do not belong together: one of them was changed")
    }
    return key
  }

  private static func memory(
    _ digits: ArraySlice<UInt8>, _ location: String
  ) throws(ImageEncryptionError) -> KeyMemory {
    var isWhole = false
    if digits.count == 2 * AEAD.keyBytes {
      let memory = try KeyMemory { bytes in isWhole = decode(digits, into: bytes) }
      if isWhole { return memory }
    }
    throw fault(location, "has no key of 64 hexadecimal digits")
  }

  private static func decode(_ digits: ArraySlice<UInt8>, into bytes: UnsafeMutablePointer<UInt8>) -> Bool {
    digits.withUnsafeBytes { digits in
      var count = 0
      let isRead = sodium_hex2bin(
        bytes, AEAD.keyBytes, digits.bindMemory(to: CChar.self).baseAddress, digits.count, nil, &count, nil)
      return isRead == 0 && count == AEAD.keyBytes
    }
  }

  private static func text(_ word: ArraySlice<UInt8>) -> String { String(decoding: word, as: UTF8.self) }

  private static func fault(_ location: String, _ message: String) -> ImageEncryptionError {
    ImageEncryptionError(
      .syntax, "The key file: \(location) \(message).",
      advice: "Restore the file from a copy; analysisctl keys new makes another where there is none.")
  }
}
