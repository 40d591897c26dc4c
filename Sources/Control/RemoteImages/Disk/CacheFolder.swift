internal import Glibc
internal import HTTPTransfer
internal import Images
internal import Support

/// The files of a disk cache's folder, by name. Blocks: call it where a thread may wait.
struct CacheFolder: Sendable {
  /// A file of an image, or of one whose program ended while it was being written.
  struct Listed {
    let name: String
    let size: Int
    /// When it was stored, in seconds since 1970.
    let stored: Double
    let isWhole: Bool

    /// An unfinished file of a program that still runs is younger; and clocks that go right differ by less.
    private static let tolerance = 3600.0

    /// Whether it has been there for longer than it may be. How old a file is that bears a time to come nobody knows.
    func isPast(_ maximumAge: Double, now: Double) -> Bool {
      let age = now - stored
      return age >= (isWhole ? maximumAge : Self.tolerance) || age < -Self.tolerance
    }
  }

  let path: String

  /// The files of images, whole ones and others, the oldest first. What else is there, and every link, is not ours.
  func list() throws(SystemError) -> [Listed] {
    guard let stream = opendir(path) else { throw .lastCall(.unreadable, "cannot be listed", path: path) }
    defer { closedir(stream) }
    var found: [Listed] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      let isWhole = Self.isImage(name)
      guard isWhole || AtomicFile.isUnfinished(name) else { continue }
      var status = stat()
      guard lstat(path(of: name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      let stored = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
      found.append(Listed(name: name, size: Int(status.st_size), stored: stored, isWhole: isWhole))
    }
    return found.sorted { ($0.stored, $0.name) < ($1.stored, $1.name) }
  }

  /// Whether a name has a file, and not a link.
  func has(_ name: String) -> Bool {
    var status = stat()
    return lstat(path(of: name), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// A file's bytes; nil when it is not there, cannot be read or is larger than the limit.
  func read(_ name: String, limit: Int) -> [UInt8]? {
    try? FileContent.read(path(of: name), limit: limit)
  }

  /// Puts a file in its place, whole, with a time of our own.
  func write(_ name: String, _ bytes: [UInt8], stored: Double) throws(SystemError) {
    var file = try AtomicFile(path(of: name), mode: 0o600, isSynced: false)
    try file.write(bytes)
    _ = try file.commit()
    let whole = stored.rounded(.down)
    let time = timespec(tv_sec: Int(whole), tv_nsec: Int((stored - whole) * 1e9))
    // Only the order of the files hangs on it.
    _ = utimensat(AT_FDCWD, path(of: name), [time, time], 0)
  }

  func remove(_ name: String) {
    unlink(path(of: name))
  }

  /// Removes a file, or says why not; false when it was not there (any more).
  func take(_ name: String) throws(SystemError) -> Bool {
    if unlink(path(of: name)) == 0 { return true }
    if errno == ENOENT { return false }
    throw .lastCall(.unwritable, "cannot be removed", path: path(of: name))
  }

  /// Whether a name is a digest, as the files of images have.
  private static func isImage(_ name: String) -> Bool {
    name.utf8.count == 64
      && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  private func path(of name: String) -> String { "\(path)/\(name)" }
}

/// What the file of an image holds once it is opened: until when it is kept, and its bytes.
struct CachedFile: Equatable {
  /// Seconds since 1970.
  let end: Double
  let image: [UInt8]

  private static let headCount = 8

  init(end: Double, image: [UInt8]) {
    self.end = end
    self.image = image
  }

  /// Reads the bytes of a file; nil when they are none of ours.
  init?(_ content: [UInt8]) {
    guard content.count >= Self.headCount else { return nil }
    let bits = content[..<Self.headCount].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    end = Double(bitPattern: bits)
    guard end.isFinite else { return nil }
    image = Array(content[Self.headCount...])
  }

  /// The bytes of the file, the end first, its lowest byte first.
  var content: [UInt8] {
    (0..<Self.headCount).map { UInt8(truncatingIfNeeded: end.bitPattern >> UInt64(8 * $0)) } + image
  }
}

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

/// The image of one address in a disk cache's folder, for whoever wants it gone and fetches nothing: the folder is
/// neither made nor cleaned up for it, and it does not matter whether its host is still allowed.
///
/// It blocks: call it where a thread may wait.
struct CachedCopy: Sendable {
  /// What a look into the folder came to.
  enum Search: Sendable {
    case found(CachedCopy)
    case absent
    /// There are files, and nobody can say with these keys which is whose.
    case unreadable
  }

  private let folder: CacheFolder
  private let name: String

  /// Looks for the image of an address.
  ///
  /// - Throws: `SystemError` when the folder is another user's, open to others or cannot be read.
  static func search(
    for address: String, in folder: String, keys: KeyRing
  ) throws(SystemError) -> Search {
    // What is no address was never fetched.
    guard let url = URLParts(address)?.url, try PrivateFolder.isThere(folder) else { return .absent }
    let cache = CacheFolder(path: folder)
    guard let names = CacheNames(in: cache, keys) else {
      return try cache.list().isEmpty ? .absent : .unreadable
    }
    let copy = CachedCopy(folder: cache, name: names.name(of: url))
    return cache.has(copy.name) ? .found(copy) : .absent
  }

  /// Removes it.
  ///
  /// - Throws: `SystemError` when it cannot be removed; not when it was gone already.
  func remove() throws(SystemError) {
    _ = try folder.take(name)
  }
}
