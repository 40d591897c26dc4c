import CommandLineTool
import EventLoop
import Formatting
import RemoteImages

/// Which folder of images by URL is to be swept, and how.
struct CacheArguments: Sendable {
  let folder: String
  let isDry: Bool

  static let none = ControlError.usage(
    "there is no cache to sweep",
    advice: "Name its folder: url-cache in the configuration file, or --url-cache.")

  /// Removes what is older than a cache gives it out, by this machine's clock, which the files' times are of too.
  func sweep(_ now: @escaping @Sendable () -> Double) async throws -> CacheSweep {
    let (folder, isDry) = (folder, isDry)
    let swept = await HelperThread.value {
      Result {
        try CacheSweep(of: folder, maximumAge: CacheSettings().maximumAge.inSeconds, now: now(), isDry: isDry)
      }
    }
    guard let swept else { throw ControlError(.tryLater, "the system has no thread left") }
    return try swept.get()
  }
}
