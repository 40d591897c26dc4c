internal import Ccrypto
import FoundationEssentials
import Glibc

/// What shows itself nowhere.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A password or key. What needs the text asks for it with `reveal()`.
public struct Secret: Sendable, Equatable, Redacted {
  /// The bytes as they were read.
  public let bytes: [UInt8]

  /// Makes a secret of a text.
  public init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// Makes a secret of bytes, such as a key.
  public init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The secret as text, without the line break that editors put at a file's end.
  public func reveal() -> String {
    var kept = bytes[...]
    if kept.last == UInt8(ascii: "\n") { kept.removeLast() }
    if kept.last == UInt8(ascii: "\r") { kept.removeLast() }
    return String(decoding: kept, as: UTF8.self)
  }
}

/// Reads files that hold a secret, and refuses those that others could read.
public enum SecretFile {
  private static let largest = 65536

  /// Reads a secret. The file must be a regular one, owned by this user or root, and readable by its owner
  /// alone (mode 0600 or 0400). A bare name is looked for first in the folder that systemd names in
  /// `CREDENTIALS_DIRECTORY`, where the service manager alone decides who may read.
  /// Throws `unreadable`, `notPrivate`, or `invalid` for an empty or over-long file.
  public static func read(
    _ path: String, environment: [String: String] = [:]
  ) throws(SystemError) -> Secret {
    let location = locate(path, environment)
    let bytes = try FileContent.read(location.path, limit: largest) { facts throws(SystemError) in
      try check(facts, location.path, isManaged: location.isManaged)
    }.withoutByteOrderMark
    guard !bytes.isEmpty else { throw SystemError(.invalid, "is empty", path: location.path) }
    return Secret(bytes: bytes)
  }

  private static func locate(
    _ path: String, _ environment: [String: String]
  ) -> (path: String, isManaged: Bool) {
    guard !path.contains("/"), let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty else {
      return (path, false)
    }
    let managed = "\(folder)/\(path)"
    return access(managed, F_OK) == 0 ? (managed, true) : (path, false)
  }

  private static func check(
    _ facts: FileContent.Facts, _ path: String, isManaged: Bool
  ) throws(SystemError) {
    guard facts.isRegular else { throw SystemError(.invalid, "is not a regular file", path: path) }
    // systemd grants the service's user by an access list, whose mask shows as the group's bits.
    let forbidden: UInt32 = isManaged ? 0o037 : 0o077
    guard facts.permissions & forbidden == 0 else {
      let mode = String(facts.permissions & 0o777, radix: 8)
      throw SystemError(
        .notPrivate, "holds a secret but has mode 0\(mode); run 'chmod 600' on it", path: path)
    }
    guard facts.owner == geteuid() || facts.owner == 0 else {
      throw SystemError(
        .notPrivate,
        "holds a secret but belongs to user \(facts.owner); it must belong to the user that runs this",
        path: path)
    }
  }
}

/// The account by which the worker calls the endpoint's API. Nothing of it shows in a description.
public struct Credentials: Sendable, Equatable, Redacted {
  /// The account's e-mail address.
  public let email: String
  /// The account's password.
  public let password: Secret
  /// The name to register under, where the account may have to be made first.
  public let name: String?

  init(email: String, password: Secret, name: String? = nil) {
    self.email = email
    self.password = password
    self.name = name
  }

  /// Reads a private file (see `SecretFile`) of either JSON, `{"email": …, "password": …}`, or lines
  /// `email = …`, `password = …`; `name` may be added. Throws as `SecretFile.read`, and `syntax`,
  /// `unknownKey` or `invalid` without a word of the content.
  public static func read(
    _ path: String, environment: [String: String] = [:]
  ) throws(SystemError) -> Credentials {
    let text = try SecretFile.read(path, environment: environment).reveal()
    let isObject = text.first { !$0.isWhitespace } == "{"
    return isObject ? try parse(json: text, path) : try parse(lines: text, path)
  }

  private struct Object: Decodable {
    let email: String?
    let password: String?
    let name: String?
  }

  private static func parse(json text: String, _ path: String) throws(SystemError) -> Credentials {
    let object: Object
    do {
      object = try JSONDecoder().decode(Object.self, from: Data(text.utf8))
    } catch {
      // The decoder's own message may quote the file.
      throw SystemError(.syntax, "is not a JSON object with the texts email and password", path: path)
    }
    return try make(object.email, object.password, object.name, path)
  }

  private static func parse(lines text: String, _ path: String) throws(SystemError) -> Credentials {
    let file: ConfigurationFile
    do {
      file = try ConfigurationFile.parse(text, path: path, keys: ["email", "password", "name"])
    } catch {
      guard error.code == .unknownKey else { throw error }
      // A line of a wrapped password may look like a key; it must not be shown.
      throw SystemError(
        .unknownKey, "has a key other than email, password and name", path: path, line: error.line)
    }
    let values = file.values
    return try make(values["email"], values["password"], values["name"], path)
  }

  private static func make(
    _ email: String?, _ password: String?, _ name: String?, _ path: String
  ) throws(SystemError) -> Credentials {
    guard let email, !email.isEmpty else { throw SystemError(.invalid, "has no email", path: path) }
    guard let password, !password.isEmpty else {
      throw SystemError(.invalid, "has no password", path: path)
    }
    return Credentials(email: email, password: Secret(password), name: name)
  }
}

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
