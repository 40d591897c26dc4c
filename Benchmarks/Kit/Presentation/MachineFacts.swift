import Ccurl
import Foundation

/// What the figures were measured on.
public struct MachineFacts: Sendable, Equatable, Codable {
  /// How many cores the process may use.
  public var cores: Int
  /// The processor's name as the kernel tells it.
  public var processor: String
  /// The machine's memory in bytes.
  public var memoryBytes: Int
  /// The kernel's release.
  public var kernel: String
  /// The PostgreSQL server's version.
  public var postgreSQL: String
  /// libcurl's version and what it was built with.
  public var libcurl: String
  /// The compiler's version; empty when whoever started the benchmarks did not tell.
  public var swift: String
  /// The build: only figures of a release build mean something.
  public var build: String
  /// The settings of the cluster that differ from the server's defaults.
  public var clusterSettings: [String: String]

  /// The facts of this machine.
  ///
  /// - Parameter swift: The compiler's version.
  public init(cluster: BenchmarkCluster, swift: String) async throws {
    cores = ProcessInfo.processInfo.activeProcessorCount
    memoryBytes = Int(clamping: ProcessInfo.processInfo.physicalMemory)
    kernel = Self.line("/proc/sys/kernel/osrelease") { _ in true } ?? "unknown"
    processor =
      Self.line("/proc/cpuinfo") { $0.hasPrefix("model name") }?.split(separator: ":").last
      .map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
    postgreSQL = try await cluster.version()
    libcurl = String(cString: curl_version())
    self.swift = swift
    #if DEBUG
      build = "debug"
    #else
      build = "release"
    #endif
    clusterSettings = cluster.settings
  }

  /// The facts in two lines.
  public var text: String {
    """
    \(processor), \(cores) cores, \(FigureText.fixed(Double(memoryBytes) / 1e9, places: 0)) GB; Linux \(kernel); \(build) build
    PostgreSQL \(postgreSQL), \(clusterSettings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
    """
  }

  private static func line(_ path: String, _ isIt: (Substring) -> Bool) -> String? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").first(where: isIt)
      .map(String.init)
  }
}
