import CommandLineTool
import EventLoop
import ImageEncryption
import RemoteImages

/// What became of a person's photo in this machine's folder of images by URL.
enum CachedPhoto: Sendable, Equatable {
  case removed
  /// It is not there.
  case absent
  /// Nobody can say whether it is there, and why not.
  case notLookedFor(String)
  /// It is there still, and why.
  case notRemoved(String)

  /// As a word for programs.
  var name: String {
    switch self {
    case .removed: "removed"
    case .absent: "not_cached"
    case .notLookedFor: "not_looked_for"
    case .notRemoved: "not_removed"
    }
  }

  /// As a person reads it.
  var message: String {
    switch self {
    case .removed: "removed from this machine"
    case .absent: "not on this machine"
    case .notLookedFor(let reason): "not looked for: \(reason)"
    case .notRemoved(let reason): "not removed: \(reason)"
    }
  }

  /// Why it may be there still.
  var reason: String? {
    switch self {
    case .removed, .absent: nil
    case .notLookedFor(let reason), .notRemoved(let reason): reason
    }
  }
}

/// Takes photos out of this machine's folder of images by URL.
struct PhotoRemover: Sendable {
  /// Where the folder is; nil when nobody says.
  let folder: String?
  /// What its files are encrypted with; nil when nobody says.
  let keys: KeyRing?

  /// Removes the photo of an address, or says what became of that: an erasure that is done is not to fail by it.
  func remove(_ address: String, isDry: Bool) async -> CachedPhoto {
    guard let folder else { return .notLookedFor("no folder is named (--url-cache)") }
    guard let keys else { return .notLookedFor("no key file is named (--key-file)") }
    return await HelperThread.value { Self.remove(address, folder, keys, isDry) }
      ?? .notLookedFor("the system has no thread left")
  }

  private static func remove(
    _ address: String, _ folder: String, _ keys: KeyRing, _ isDry: Bool
  ) -> CachedPhoto {
    let found: CachedCopy
    do {
      switch try CachedCopy.search(for: address, in: folder, keys: keys) {
      case .found(let copy): found = copy
      case .absent: return .absent
      case .unreadable: return .notLookedFor("its names cannot be read with this key file")
      }
    } catch {
      return .notLookedFor("\(error)")
    }
    do {
      if !isDry { try found.remove() }
      return .removed
    } catch {
      return .notRemoved("\(error)")
    }
  }
}
