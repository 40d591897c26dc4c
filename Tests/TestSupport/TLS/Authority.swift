import Foundation

/// A certificate authority of the test's own, made by `openssl`, gone with its last owner.
public final class Authority: Sendable {
  /// Whether the programs that it takes are there: `openssl`, and Python for the servers.
  public static let isAvailable =
    HelperProgram.find("/usr/bin/openssl") != nil && HelperProgram.find("/usr/bin/python3") != nil

  private let folder: TemporaryFolder

  /// The authority's own certificate.
  public var file: String { folder.path("authority.pem") }
  /// The private key of all its servers.
  public var key: String { folder.path("server.key") }

  /// What its keys are: only RSA can be used without forward secrecy.
  public enum Keys: Sendable {
    case ec, rsa
  }

  /// Makes an authority and the key of its servers.
  public init(_ keys: Keys = .ec) async throws {
    folder = try TemporaryFolder()
    let kind =
      switch keys {
      case .ec: ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
      case .rsa: ["rsa:2048"]
      }
    let newKey = ["-newkey"] + kind + ["-nodes"]
    try await openssl(
      ["req", "-x509"] + newKey + ["-keyout", folder.path("authority.key"), "-out", file, "-days", "2"]
        + ["-subj", "/CN=Authority of a test"])
    try await openssl(
      ["req"] + newKey + ["-keyout", key, "-out", folder.path("server.csr"), "-subj", "/CN=server"])
  }

  /// Signs a server's certificate and returns its file; a negative number of days makes an expired one.
  public func certificate(names: String, days: Int = 2) async throws -> String {
    let extensions = folder.path("extensions")
    let script = "printf 'subjectAltName=%s' '\(names)' > '\(extensions)'"
    _ = try await HelperProgram.run("/bin/sh", ["-c", script])
    let output = folder.path("server.pem")
    try await openssl([
      "x509", "-req", "-in", folder.path("server.csr"), "-CA", file, "-CAkey", folder.path("authority.key"),
      "-CAcreateserial", "-days", "\(days)", "-extfile", extensions, "-out", output,
    ])
    return output
  }

  /// A file of mode 0600 with a certificate of its own and the key, by which a client shows itself.
  public func client(days: Int = 2) async throws -> String {
    let certificate = try await certificate(names: "DNS:worker.example.org", days: days)
    let text = try [certificate, key].map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    return try folder.write(text, to: "client\(days).pem")
  }

  /// The pin of its servers' key: `sha256//` and the digest of the public key.
  public func pin() async throws -> String {
    let script =
      "openssl pkey -in '\(key)' -pubout -outform der | openssl dgst -sha256 -binary | openssl base64 -A"
    return "sha256//"
      + String(decoding: try await HelperProgram.output("/bin/sh", ["-c", script]), as: UTF8.self)
  }

  private func openssl(_ arguments: [String]) async throws {
    let result = try await HelperProgram.run("/usr/bin/openssl", arguments)
    guard result.status == 0 else { throw ServerFailure("openssl \(arguments[0]): \(result.errors)") }
  }
}
