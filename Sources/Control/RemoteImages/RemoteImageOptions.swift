import CommandLineTool
import EventLoop
import Images
import PostgreSQL
import Support
import Synchronization

/// The options of commands that fetch images by URL.
enum RemoteImageOptions {
  static let hosts = Option<[AllowedHost]>(
    repeating: "url-hosts", .allowedHost, environment: "ANALYSIS_URL_HOSTS", key: "url-hosts",
    help:
      "A host from which images may be fetched by URL: images.example.org, or *.example.org for those below "
      + "it. Without one nothing is fetched.")
  static let cache = Option<String?>(
    "url-cache", .folder, environment: "ANALYSIS_URL_CACHE", key: "url-cache",
    help:
      "Keep what was fetched in this folder, encrypted with the keys of --key-file, and use it for a day; the "
      + "next fetch or analysisctl purge removes it then. The folder is made if need be. Without a key file "
      + "nothing is kept there.")
  static let keptCache = Option<String?>(
    "url-cache", .folder, environment: "ANALYSIS_URL_CACHE", key: "url-cache",
    help: "The folder in which this machine keeps images that were fetched by URL. It is not made.")
  static let photoBase = Option<PhotoBase?>(
    "photo-base", .photoBase, environment: "ANALYSIS_PHOTO_BASE", key: "photo-base",
    help:
      "The https address below which photos are that are given by name; its host has to be one of --url-hosts."
  )
  static let cacheSize = Option(
    "url-cache-size", .byteSize(in: 1_000_000...(1 << 50)), default: 256_000_000, key: "url-cache-size",
    help: "The most bytes in that folder.")
}

extension ValueFormat where Value == AllowedHost {
  /// A host, or all below a name.
  static var allowedHost: Self {
    ValueFormat(
      name: "HOST",
      parse: { (given: String) throws(ValueError) -> AllowedHost in
        do throws(AllowedHost.Fault) {
          return try AllowedHost(given)
        } catch {
          throw ValueError(error.message)
        }
      },
      text: { $0.description })
  }
}

extension ValueFormat where Value == PhotoBase {
  /// The address below which photos are.
  fileprivate static var photoBase: Self {
    ValueFormat(
      name: "URL",
      parse: { (given: String) throws(ValueError) -> PhotoBase in
        do throws(PhotoBase.Fault) {
          return try PhotoBase(given)
        } catch {
          throw ValueError(error.message)
        }
      },
      text: { $0.description })
  }
}

/// What a command line says of images by URL.
struct RemoteImageArguments: Sendable {
  /// Where images may come from; none where the product has switched them off.
  let hosts: [AllowedHost]
  /// What is said where they are off.
  let off: CommandFailure
  let cache: String?
  private let cacheSize: Int

  init(_ context: ControlContext) throws {
    let given = try context[RemoteImageOptions.hosts]
    do throws(CommandFailure) {
      try context.product?.require(.imagesByURL)
      (hosts, off) = (given, Self.notEnabled)
    } catch {
      (hosts, off) = ([], error)
    }
    cache = try context[RemoteImageOptions.cache]
    cacheSize = try context[RemoteImageOptions.cacheSize]
  }

  /// Whether any image may be fetched by URL.
  var isOn: Bool { !hosts.isEmpty }

  /// Images by URL are off until an operator says from where.
  static let notEnabled = CommandFailure.usage(
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
    _ session: ControlSession, keys: KeyRing?, limits: ImageLimits = ImageLimits(), isNeeded: Bool = true,
    _ body: (RemoteImageCache?) async throws -> R
  ) async throws -> R {
    guard isOn, isNeeded else { return try await body(nil) }
    if let cache, keys == nil {
      session.console.say(
        "Images by URL are not kept in \(printable(cache)): no key file is named to encrypt them with "
          + "(--key-file).")
    }
    let (settings, network) = (CacheSettings(), session.context.dependencies.network)
    let isSaid = Mutex(false)
    let cache = RemoteImageCache(
      loop: session.database.loop, hosts: hosts, limits: FetchLimits(bytes: limits.maxBytes),
      settings: settings, disk: try await disk(keys, settings, network), network: network
    ) { sentence in
      // The same trouble comes with every image.
      if isSaid.withLock({ said in
        defer { said = true }
        return !said
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
    guard let opened else { throw CommandFailure(.tryLater, "the system has no thread left") }
    return try opened.get()
  }
}
