internal import EventLoop
internal import HTTPTransfer
import Support

/// The requests of S3's API that an image store needs, each signed and whole.
///
/// Keys are of letters, digits and `/._-` alone, since libcurl signs a path as it is written.
struct ObjectClient: Sendable {
  let settings: ObjectSettings
  private let http: HTTPClient
  private let credentials: ObjectCredentials
  private let loop: EventLoop

  /// The pauses before an object is written again that the store failed to take.
  private static let backoff = Backoff(base: .milliseconds(200), cap: .seconds(1))
  /// How often an object is written again.
  private static let mostRepeats = 2

  init(_ settings: ObjectSettings, loop: EventLoop) {
    self.settings = settings
    self.loop = loop
    http = HTTPClient(loop: loop, configuration: settings.transfer)
    credentials = ObjectCredentials(settings.credentials, by: settings.transfer.proxy, loop: loop)
  }

  /// Ends what is in flight, and closes the connections.
  func close() async {
    await http.close()
    await credentials.close()
  }

  /// Writes an object, and again where the store fails for a moment: nobody else does it for a submit.
  func put(_ key: String, _ bytes: [UInt8]) async throws(ImageStoreError) {
    let body = Body.bytes(bytes, contentType: "application/octet-stream")
    let sha256 = Hexadecimal.text(of: SHA256.digest(of: bytes))
    var pauses = RetryPauses(Self.backoff)
    while true {
      do {
        _ = try await send(.put, key, body: body, sha256: sha256)
        return
      } catch {
        guard error.isMomentary, pauses.failures < Self.mostRepeats,
          (try? await loop.sleep(for: pauses.next())) != nil
        else { throw error }
      }
    }
  }

  /// An object's bytes; nil where there is none of that key.
  func get(_ key: String) async throws(ImageStoreError) -> [UInt8]? {
    try await send(.get, key, isAbsentAllowed: true)?.body
  }

  /// Removes an object with all of its versions. One that is not there is removed already.
  func remove(_ key: String) async throws(ImageStoreError) {
    let headers = try await send(.delete, key, isAbsentAllowed: true)?.headers
    // A bucket with versions keeps the object behind a mark.
    guard headers?["x-amz-version-id"] != nil || headers?["x-amz-delete-marker"] == "true" else { return }
    var marker: [(String, String)] = []
    repeat {
      let query = marker + [("prefix", key), ("versions", "")]
      guard let page = try await send(.get, "", query: query) else { return }
      let listing = ObjectListing(page.body)
      for entry in listing.entries(named: ["Version", "DeleteMarker"]) where entry["Key"] == key {
        guard let version = entry["VersionId"] else { continue }
        _ = try await send(.delete, key, query: [("versionId", version)], isAbsentAllowed: true)
      }
      marker =
        listing["IsTruncated"] == "true"
        ? [
          ("key-marker", listing["NextKeyMarker"] ?? ""),
          ("version-id-marker", listing["NextVersionIdMarker"] ?? ""),
        ] : []
    } while !marker.isEmpty
  }

  /// An object of a list.
  struct Listed: Sendable, Equatable {
    let key: String
    let byteCount: Int
    /// When it was written by the store's clock, in seconds since 1970.
    let writtenAt: Double
  }

  /// The next objects whose keys begin so, by their keys, and where the list goes on; nil at the end.
  func list(
    prefix: String, after token: String?
  ) async throws(ImageStoreError) -> (objects: [Listed], next: String?) {
    let query = (token.map { [("continuation-token", $0)] } ?? []) + [("list-type", "2"), ("prefix", prefix)]
    guard let answer = try await send(.get, "", query: query) else { return ([], nil) }
    let listing = ObjectListing(answer.body)
    let objects = listing.entries(named: ["Contents"]).compactMap { entry -> Listed? in
      guard let key = entry["Key"], let size = entry["Size"].flatMap({ Int($0) }),
        let written = entry["LastModified"].flatMap({ WrittenTime($0)?.secondsSince1970 })
      else { return nil }
      return Listed(key: key, byteCount: size, writtenAt: written)
    }
    let next = listing["IsTruncated"] == "true" ? listing["NextContinuationToken"] : nil
    return (objects, next)
  }

  // MARK: Sending

  private static let emptySHA256 = SHA256.hexadecimal(of: "")

  /// Sends a request; once more with another key where there is one by now. Nil: there is no such object.
  private func send(
    _ method: Method, _ key: String, query: [(String, String)] = [], body: Body = .none,
    sha256: String = emptySHA256, isAbsentAllowed: Bool = false
  ) async throws(ImageStoreError) -> Response? {
    let used = try await credentials.current(at: UnixTime.now.secondsSince1970)
    let answer = try await send(method, key, query, body, sha256, used)
    guard let failure = ImageStoreError(answer, of: settings.name) else { return answer }
    if failure.isAbsence, isAbsentAllowed { return nil }
    guard answer.status == 403, let fresh = try await credentials.other(than: used) else { throw failure }
    let again = try await send(method, key, query, body, sha256, fresh)
    guard let failure = ImageStoreError(again, of: settings.name) else { return again }
    if failure.isAbsence, isAbsentAllowed { return nil }
    throw failure
  }

  private func send(
    _ method: Method, _ key: String, _ query: [(String, String)], _ body: Body, _ sha256: String,
    _ credentials: ObjectCredentials.Key
  ) async throws(ImageStoreError) -> Response {
    var url = "\(settings.address)/\(key)"
    // As the signature wants them: sorted, and whatever could be taken otherwise is escaped.
    let sorted = query.sorted { $0.0 < $1.0 }.map { "\(percentEncoded($0.0))=\(percentEncoded($0.1))" }
    if !sorted.isEmpty { url += "?" + sorted.joined(separator: "&") }
    var request = Request(method, url, headers: ["x-amz-content-sha256": sha256], body: body)
    if let token = credentials.sessionToken { request.headers.add("x-amz-security-token", token.reveal()) }
    request.signature = (settings.region, credentials.accessKey, credentials.secretKey)
    do {
      return try await http.send(request, deadline: settings.deadline)
    } catch {
      throw ImageStoreError(error, of: settings.name)
    }
  }
}

/// Where an object store is, and by which key: what its file says.
struct ObjectSettings: Sendable {
  /// Of the bucket, without a slash at its end.
  let address: String
  let region: String
  let credentials: ObjectCredentials.Source
  let transfer: HTTPTransfer.Configuration
  /// How long one request may take: an image over a slow line.
  var deadline: Duration = .seconds(30)

  /// As messages call it.
  var name: String { address }

  private static let keys: Set<String> = [
    "address", "region", "credentials", "access-key", "secret-key", "session-token", "role", "token-file",
    "key-service", "ca-file", "certificate", "pins", "allow-plain-http", "proxy",
  ]

  /// Reads a private file (see `SecretFile`) of lines `address = …`, `access-key = …`, `secret-key = …`, or instead of
  /// a key `credentials = web-identity` or `credentials = instance`. Throws as
  /// `SecretFile.read`, and `syntax`, `unknownKey` or `invalid` without a word of the content.
  static func read(_ path: String, environment: [String: String]) throws(SystemError) -> ObjectSettings {
    let text = try SecretFile.read(path, environment: environment).reveal()
    let values: [String: String]
    do {
      values = try ConfigurationFile.parse(text, path: path, keys: keys).values
    } catch {
      guard error.code == .unknownKey else { throw error }
      throw SystemError(
        .unknownKey, "has a key other than \(keys.sorted().joined(separator: ", "))", path: path,
        line: error.line)
    }
    func required(_ key: String, or variable: String? = nil) throws(SystemError) -> String {
      guard let value = values[key] ?? variable.flatMap({ environment[$0] }), !value.isEmpty else {
        throw SystemError(.invalid, "has no \(key)", path: path)
      }
      return value
    }
    var address = try required("address")
    while address.hasSuffix("/") { address.removeLast() }
    var transfer = HTTPTransfer.Configuration()
    transfer.certificateAuthorityFile = values["ca-file"]
    if let file = values["certificate"] {
      let certificate = try ClientCertificate.read(file, environment: environment)
      transfer.clientIdentity = ClientIdentity(pem: certificate.pem.bytes)
    }
    transfer.pinnedKeys = (values["pins"] ?? "").split(separator: " ").map(String.init)
    if let proxy = values["proxy"] {
      guard proxy.hasPrefix("http://") || proxy.hasPrefix("https://") else {
        throw SystemError(.invalid, "has a proxy that does not begin with http:// or https://", path: path)
      }
      transfer.proxy = .url(proxy)
    }
    transfer.plainHTTP = values["allow-plain-http"] == "yes" ? .anywhere : .loopbackOnly
    // An image that is encrypted, and the largest page of a list.
    transfer.answerLimit = 10_000_512
    transfer.maximumConnections = ImageStore.connections
    transfer.maximumConnectionsPerHost = ImageStore.connections
    do throws(TransferError) {
      try transfer.check(address)
    } catch {
      throw SystemError(.invalid, "has an address that cannot be used: \(error)", path: path)
    }
    let region = values["region"] ?? "us-east-1"
    let credentials: ObjectCredentials.Source
    switch values["credentials"] ?? "file" {
    case "file":
      let key = ObjectCredentials.Key(
        accessKey: try required("access-key"), secretKey: Secret(try required("secret-key")),
        sessionToken: values["session-token"].map { Secret($0) })
      credentials = .file(key) {
        // Where the file cannot be read now, what it said before is as good as anything.
        guard case .file(let key, _)? = try? read(path, environment: environment).credentials else {
          return nil
        }
        return key
      }
    case "web-identity":
      credentials = .webIdentity(
        service: values["key-service"] ?? "https://sts.\(region).amazonaws.com",
        role: try required("role", or: "AWS_ROLE_ARN"),
        tokenFile: try required("token-file", or: "AWS_WEB_IDENTITY_TOKEN_FILE"))
    case "instance":
      credentials = .instance(service: values["key-service"] ?? "http://169.254.169.254")
    default:
      throw SystemError(.invalid, "has credentials other than file, web-identity and instance", path: path)
    }
    return ObjectSettings(address: address, region: region, credentials: credentials, transfer: transfer)
  }
}

/// What is read of an answer of S3's API, which is XML without attributes of interest: elements by their names.
struct ObjectListing {
  private let text: Substring

  init(_ bytes: [UInt8]) { text = Substring(String(decoding: bytes, as: UTF8.self)) }

  private init(_ text: Substring) { self.text = text }

  /// The text of the first element of a name; nil where there is none.
  subscript(_ name: String) -> String? { element(name, in: text).map { Self.unescaped($0.content) } }

  /// The elements of some names, in their order.
  func entries(named names: [String]) -> [ObjectListing] {
    names.flatMap { name -> [ObjectListing] in
      var rest = text
      var found: [ObjectListing] = []
      while let (content, behind) = element(name, in: rest) {
        found.append(ObjectListing(content))
        rest = behind
      }
      return found
    }
  }

  private func element(_ name: String, in text: Substring) -> (content: Substring, behind: Substring)? {
    guard let begin = text.firstRange(of: "<\(name)>"),
      let end = text[begin.upperBound...].firstRange(of: "</\(name)>")
    else { return nil }
    return (text[begin.upperBound..<end.lowerBound], text[end.upperBound...])
  }

  private static func unescaped(_ text: Substring) -> String {
    guard text.contains("&") else { return String(text) }
    var plain = String(text)
    for (name, character) in [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"),
      ("&amp;", "&"),
    ] { plain = plain.replacing(name, with: character) }
    return plain
  }
}
