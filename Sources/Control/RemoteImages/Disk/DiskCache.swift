internal import Glibc
internal import Images
internal import Support
internal import Synchronization

/// Images on a disk, encrypted with the keys of the images in the database, bounded in bytes: the oldest go first.
///
/// What lies there tells nothing: a file is called by a digest of its image's address and a random key that is
/// encrypted too, and holds the image and its time, bound to that name. What cannot be opened is dropped. Of two
/// processes with one folder each keeps to the bound with the files that it knows; the next to start takes away
/// what is too much.
///
/// All of it blocks: call it where a thread may wait.
final class DiskCache: Sendable {
  fileprivate struct State {
    var sizes: [String: Int] = [:]
    var line = EvictionLine()
    var byteCount = 0
  }

  private let folder: CacheFolder
  private let limit: Int
  private let keys: KeyRing
  private let names: CacheNames
  private let state: Mutex<State>

  /// Opens a folder, which is made where it is not there, and drops what is too old or too much.
  ///
  /// - Parameters:
  ///   - limit: The most bytes of all files.
  ///   - keys: The current one is for what is kept from now on; all of them for what is there.
  ///   - maximumAge: What is older goes, in seconds.
  ///   - now: In seconds since 1970.
  /// - Throws: `SystemError` when the folder cannot be used or is open to others.
  init(
    _ folder: String, limit: Int, keys: KeyRing, maximumAge: Double, now: Double
  ) throws {
    try PrivateFolder.prepare(folder)
    let cache = CacheFolder(path: folder)
    var files: [CacheFolder.Listed] = []
    for file in try cache.list() {
      if file.isPast(maximumAge, now: now) {
        cache.remove(file.name)
      } else if file.isWhole {
        files.append(file)
      }
    }
    if let stored = CacheNames(in: cache, keys) {
      names = stored
      // So that the key of before can be taken out of the key file. Where it fails, the next start does it.
      if !stored.isCurrent { try? stored.store(in: cache, keys, now: now) }
    } else {
      // Without the key of the names, or without the key that it is under, nobody will open these again.
      for file in files { cache.remove(file.name) }
      files = []
      names = CacheNames.random()
      try names.store(in: cache, keys, now: now)
    }
    var state = State()
    for file in files { state.add(file.name, file.size) }
    for name in state.makeRoom(limit) { cache.remove(name) }
    self.folder = cache
    self.limit = limit
    self.keys = keys
    self.state = Mutex(state)
  }

  /// How many bytes its files have.
  var byteCount: Int { state.withLock { $0.byteCount } }

  /// The image of an address and until when it is kept; nil when it is not there (any more).
  func image(_ url: String, now: Double) -> CachedFile? {
    let name = names.name(of: url)
    let bytes = state.withLock { state -> [UInt8]? in
      guard state.sizes[name] != nil || folder.has(name), let bytes = folder.read(name, limit: limit) else {
        drop(name, from: &state)
        return nil
      }
      // Another process may have put it there.
      if state.sizes[name] == nil { state.add(name, bytes.count) }
      return bytes
    }
    guard let bytes else { return nil }
    let file = (try? keys.openFile(bytes, name: CacheNames.binding(name))).flatMap { CachedFile($0) }
    guard let file, file.end > now else {
      state.withLock { drop(name, from: &$0) }
      return nil
    }
    return file
  }

  /// Keeps an image until a time, at the cost of the oldest.
  func keep(_ url: String, _ file: CachedFile, now: Double) throws {
    let name = names.name(of: url)
    let bytes = try keys.encryptFile(file.content, name: CacheNames.binding(name))
    try state.withLock { state in
      drop(name, from: &state)
      guard bytes.count <= limit else { return }
      for oldest in state.makeRoom(limit - bytes.count) { folder.remove(oldest) }
      try folder.write(name, bytes, stored: now)
      state.add(name, bytes.count)
    }
  }

  private func drop(_ name: String, from state: inout State) {
    guard state.sizes[name] != nil else { return }
    state.remove(name)
    folder.remove(name)
  }
}

extension DiskCache.State {
  /// Puts a file behind all others.
  mutating func add(_ name: String, _ size: Int) {
    sizes[name] = size
    byteCount += size
    line.putLast(name)
  }

  mutating func remove(_ name: String) {
    byteCount -= sizes.removeValue(forKey: name) ?? 0
    line.remove(name)
  }

  /// Takes out the oldest until no more than so many bytes are left, and answers which.
  mutating func makeRoom(_ most: Int) -> [String] {
    var gone: [String] = []
    while byteCount > most, let oldest = line.takeFirst() {
      remove(oldest)
      gone.append(oldest)
    }
    return gone
  }
}

/// What went from a disk cache's folder because it had been there for longer than it may be.
///
/// To remove a file no key is needed, so that whoever keeps a machine clean need not be able to look at its images.
struct CacheSweep: Sendable, Equatable {
  private(set) var files = 0
  private(set) var bytes = 0

  init() {}

  /// Sweeps a folder, which need not be there and is not made. What is no file of a cache is left alone.
  ///
  /// It blocks: call it where a thread may wait.
  ///
  /// - Parameters:
  ///   - maximumAge: What is older goes, in seconds.
  ///   - now: In seconds since 1970.
  ///   - isDry: Whether nothing is removed, and only told what would go.
  /// - Throws: `SystemError` when the folder is another user's or open to others, or a file cannot be removed.
  init(
    of folder: String, maximumAge: Double, now: Double, isDry: Bool
  ) throws(SystemError) {
    guard try PrivateFolder.isThere(folder) else { return }
    let cache = CacheFolder(path: folder)
    for file in try cache.list() where file.isPast(maximumAge, now: now) {
      // Another program may have been quicker.
      if !isDry, try !cache.take(file.name) { continue }
      files += 1
      bytes += file.size
    }
  }
}
