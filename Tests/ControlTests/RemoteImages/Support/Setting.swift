import EventLoop
import Foundation
import HTTPTransfer
import TestSupport
import Testing

@testable import Control

/// What a test's cache is made of. The servers are on the loopback, so that its addresses are allowed here, by the
/// switch that tests alone have, and addresses may be http.
struct Setting {
  var names = Names(["127.0.0.1"])
  var clock = ManualClock()
  var exempt = ["127.0.0.1"]
  /// Longer than a busy machine takes.
  var limits = FetchLimits(connect: patience, whole: patience)
  var settings = CacheSettings()
  var disk: DiskCache?
  var authority: String?
  var onTrouble: @Sendable (String) -> Void = { _ in }

  var network: NetworkDependencies {
    let clock = clock
    var network = NetworkDependencies(
      resolver: names.resolver, certificateAuthorityFile: authority, now: { clock.now })
    network.exempt = Set(exempt.compactMap { IPAddress($0) })
    network.allowsPlainHTTP = true
    return network
  }

  /// A cache for as long as the body runs.
  func with<R>(
    _ hosts: [String], _ network: NetworkDependencies? = nil, _ body: (RemoteImageCache) async throws -> R
  ) async throws -> R {
    let loop = try EventLoop(name: "remote-images")
    let cache = RemoteImageCache(
      loop: loop, hosts: try hosts.map { try AllowedHost($0) }, limits: limits, settings: settings,
      disk: disk,
      network: network ?? self.network, onTrouble: onTrouble)
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(cache)) } catch { outcome = .failure(error) }
    await cache.close()
    loop.shutdown()
    return try outcome.get()
  }
}

extension RemoteImageCache {
  /// The error of an address that must fail; nil when it does not.
  func failure(_ address: String) async -> RemoteImageError? {
    do throws(RemoteImageError) {
      _ = try await image(at: address)
      return nil
    } catch {
      return error
    }
  }
}
