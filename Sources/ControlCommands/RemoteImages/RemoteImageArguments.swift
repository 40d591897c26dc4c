import CommandLineTool
import EventLoop
import Formatting
import ImageEncryption
import Images
import PostgreSQL
import RemoteImages
import Synchronization

/// What a command line says of images by URL.
struct RemoteImageArguments: Sendable {
  let hosts: [AllowedHost]
  let cache: String?
  private let cacheSize: Int

  init(_ values: Values) throws {
    hosts = try values[RemoteImageOptions.hosts]
    cache = try values[RemoteImageOptions.cache]
    cacheSize = try values[RemoteImageOptions.cacheSize]
  }

  /// Whether any image may be fetched by URL.
  var isOn: Bool { !hosts.isEmpty }

  /// Images by URL are off until an operator says from where.
  static let off = ControlError.usage(
    "images by URL are not enabled",
    advice:
      "Name the hosts that may be fetched from: url-hosts = images.example.org in the configuration file, or "
      + "--url-hosts.")

  /// Lends a cache to fetch through for as long as the body runs; nil where nothing may be fetched.
  ///
  /// - Parameters:
  ///   - keys: With which images on the disk are encrypted; without them none are kept there.
  ///   - isNeeded: Whether anything will be fetched.
  func withCache<R>(
    _ session: ControlSession, _ dependencies: Dependencies, keys: KeyRing?,
    limits: ImageLimits = ImageLimits(), isNeeded: Bool = true,
    _ body: (RemoteImageCache?) async throws -> R
  ) async throws -> R {
    guard isOn, isNeeded else { return try await body(nil) }
    if let cache, keys == nil {
      session.console.say(
        "Images by URL are not kept in \(printable(cache)): no key file is named to encrypt them with "
          + "(--key-file).")
    }
    let (settings, network) = (CacheSettings(), dependencies.network)
    let isTold = Mutex(false)
    let cache = RemoteImageCache(
      loop: session.database.loop, hosts: hosts, limits: FetchLimits(bytes: limits.maxBytes),
      settings: settings, disk: try await disk(keys, settings, network), network: network
    ) { sentence in
      // The same trouble comes with every image.
      if isTold.withLock({ told in
        defer { told = true }
        return !told
      }) {
        session.console.say(sentence)
      }
    }
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(cache)) } catch { outcome = .failure(error) }
    await cache.close()
    return try outcome.get()
  }

  private func disk(
    _ keys: KeyRing?, _ settings: CacheSettings, _ network: NetworkDependencies
  ) async throws -> DiskCache? {
    guard let cache, let keys else { return nil }
    let size = cacheSize
    let opened = await HelperThread.value {
      Result {
        try DiskCache(
          cache, limit: size, keys: keys, maximumAge: settings.maximumAge.inSeconds, now: network.now())
      }
    }
    guard let opened else { throw ControlError(.tryLater, "the system has no thread left") }
    return try opened.get()
  }
}
