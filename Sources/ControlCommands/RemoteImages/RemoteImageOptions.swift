import CommandLineTool
import RemoteImages

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
          throw ValueError(error.words)
        }
      },
      text: { $0.description })
  }
}
