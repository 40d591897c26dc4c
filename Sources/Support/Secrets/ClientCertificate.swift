internal import Ccrypto
internal import Glibc

/// A certificate and its private key, by which this program shows itself to a server.
public struct ClientCertificate: Sendable {
  /// Both as PEM text, the certificates of authorities between among them.
  public let pem: Secret
  /// From when to when the certificate is valid.
  public let validity: ClosedRange<UnixTime>

  /// Reads a private file (see `SecretFile`) with a certificate and its key as PEM. Throws as `SecretFile.read`, and
  /// `invalid`, without a word of the key, for one that cannot be used at a moment.
  public static func read(
    _ path: String, environment: [String: String] = [:], now: UnixTime = .now
  ) throws(SystemError) -> ClientCertificate {
    let pem = try SecretFile.read(path, environment: environment)
    guard let certificate = parse(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
      throw SystemError(.invalid, "has no certificate in PEM", path: path)
    }
    defer { X509_free(certificate) }
    // Without a function for the password the library would ask at the terminal.
    guard let key = parse(pem, { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }) else {
      throw SystemError(
        .invalid, "has no private key in PEM, or one that is behind a password; give it without one",
        path: path)
    }
    defer { EVP_PKEY_free(key) }
    guard X509_check_private_key(certificate, key) == 1 else {
      throw SystemError(.invalid, "has a private key that is not the first certificate's", path: path)
    }
    guard let from = moment(X509_get0_notBefore(certificate)),
      let to = moment(X509_get0_notAfter(certificate))
    else { throw SystemError(.invalid, "has a certificate whose dates cannot be read", path: path) }
    guard now <= to else {
      throw SystemError(
        .invalid, "has a certificate that expired on \(to.rfc3339Seconds); renew it", path: path)
    }
    guard now >= from else {
      throw SystemError(
        .invalid,
        "has a certificate that is valid from \(from.rfc3339Seconds) on only; see this machine's clock",
        path: path)
    }
    return ClientCertificate(pem: pem, validity: from...to)
  }

  private static func parse<R>(_ pem: Secret, _ read: (OpaquePointer) -> R?) -> R? {
    pem.bytes.withUnsafeBytes { bytes -> R? in
      guard let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(memory) }
      return read(memory)
    }
  }

  private static func moment(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
    var parts = tm()
    guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return UnixTime(seconds: Int64(timegm(&parts)))
  }
}
