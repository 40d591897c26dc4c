public import System

/// What went from a disk cache's folder because it had been there for longer than it may be.
///
/// To remove a file no key is needed, so that whoever keeps a machine clean need not be able to look at its images.
public struct CacheSweep: Sendable, Equatable {
  /// How many files.
  public private(set) var files = 0
  /// Their size.
  public private(set) var bytes = 0

  /// Nothing went.
  public init() {}

  /// Sweeps a folder, which need not be there and is not made. What is no file of a cache is left alone.
  ///
  /// It blocks: call it where a thread may wait.
  ///
  /// - Parameters:
  ///   - maximumAge: What is older goes, in seconds.
  ///   - now: In seconds since 1970.
  ///   - isDry: Whether nothing is removed, and only told what would go.
  /// - Throws: `SystemError` when the folder is another user's or open to others, or a file cannot be removed.
  public init(
    of folder: String, maximumAge: Double, now: Double, isDry: Bool
  ) throws(SystemError) {
    guard try PrivateFolder.isThere(folder) else { return }
    let place = CacheFolder(path: folder)
    for file in try place.list() where file.isPast(maximumAge, now: now) {
      // Another program may have been quicker.
      if !isDry, try !place.take(file.name) { continue }
      files += 1
      bytes += file.size
    }
  }
}
