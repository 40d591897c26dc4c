internal import EventLoop
internal import HTTPTransfer
import Support

/// The key by which requests to an object store are signed; one that ends is got anew before it does.
actor ObjectCredentials {
  /// A key of the store.
  struct Key: Sendable, Equatable {
    let accessKey: String
    let secretKey: Secret
    let sessionToken: Secret?
    /// When it ends, in seconds since 1970; nil where nobody said.
    var end: Double?
  }

  /// Where keys come from.
  enum Source: Sendable {
    /// The store's file, which whoever gives out keys may write anew.
    case file(Key, again: @Sendable () -> Key?)
    /// A role that somebody may take who has the token in a file, as Kubernetes gives it (AssumeRoleWithWebIdentity).
    case webIdentity(service: String, role: String, tokenFile: String)
    /// The role of this machine, which its cloud's metadata service gives (IMDSv2).
    case instance(service: String)
  }

  private let source: Source
  private let http: HTTPClient
  private var known: Key?
  private var asking: Task<Result<Key, ImageStoreError>, Never>?

  /// - Parameter proxy: by which way the service that gives out keys is reached, unless it is this machine's.
  init(_ source: Source, by proxy: Configuration.Proxy = .none, loop: EventLoop) {
    self.source = source
    var configuration = Configuration()
    configuration.answerLimit = 64 << 10
    // A machine's metadata service has no certificate, and is no further away than the machine.
    if case .instance = source { configuration.plainHTTP = .anywhere } else { configuration.proxy = proxy }
    http = HTTPClient(loop: loop, configuration: configuration)
    if case .file(let key, _) = source { known = key }
  }

  func close() async { await http.close() }

  /// So long before its end a key is got anew.
  private static let margin = 300.0
  private static let deadline: Duration = .seconds(10)

  /// The key to sign with at a moment, in seconds since 1970.
  func current(at moment: Double) async throws(ImageStoreError) -> Key {
    guard let key = known else { return try await renewed() }
    guard let end = key.end, end - moment < Self.margin else { return key }
    do {
      return try await renewed()
    } catch {
      // It holds for some minutes yet.
      guard moment < end else { throw error }
      return key
    }
  }

  /// Another key than one that was refused; nil where there is none.
  func other(than refused: Key) async throws(ImageStoreError) -> Key? {
    if let known, known != refused { return known }
    let key = try await renewed()
    return key == refused ? nil : key
  }

  /// Asks for a key. However many want one, it is asked for once.
  private func renewed() async throws(ImageStoreError) -> Key {
    if let asking { return try await asking.value.get() }
    let task = Task { [known] in await Self.key(from: source, known, http) }
    asking = task
    let answer = await task.value
    asking = nil
    let key = try answer.get()
    known = key
    return key
  }

  private static func key(
    from source: Source, _ known: Key?, _ http: HTTPClient
  ) async -> Result<Key, ImageStoreError> {
    do throws(ImageStoreError) {
      switch source {
      case .file(let first, let again):
        return .success((await HelperThread.value { again() }).flatMap { $0 } ?? known ?? first)
      case .webIdentity(let service, let role, let tokenFile):
        return .success(try await key(of: role, by: tokenFile, service, http))
      case .instance(let service): return .success(try await key(ofMachineBy: service, http))
      }
    } catch {
      return .failure(error)
    }
  }

  // MARK: Web identity

  private static func key(
    of role: String, by tokenFile: String, _ service: String, _ http: HTTPClient
  ) async throws(ImageStoreError) -> Key {
    let read = await HelperThread.value { () -> Result<[UInt8], SystemError> in
      Result { () throws(SystemError) in try FileContent.read(tokenFile, limit: 64 << 10) }
    }
    guard case .success(let token)? = read else {
      throw ImageStoreError("The token of the image store's role cannot be read from \(tokenFile).")
    }
    let form = [
      ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
      ("RoleSessionName", "analysis-queue"), ("WebIdentityToken", Secret(bytes: token).reveal()),
    ].map { "\($0)=\(percentEncoded($1))" }.joined(separator: "&")
    let answer = try await ask(
      Request(
        .post, service, headers: ["Accept": "text/xml"],
        body: .bytes(Array(form.utf8), contentType: "application/x-www-form-urlencoded"), mayBeRepeated: true),
      http)
    let listing = ObjectListing(answer.body)
    guard
      let key = Key(
        listing["AccessKeyId"], listing["SecretAccessKey"], listing["SessionToken"],
        end: listing["Expiration"])
    else { throw ImageStoreError("\(service) answered no key for the image store's role.", isAway: true) }
    return key
  }

  // MARK: The machine's role

  private static func key(ofMachineBy service: String, _ http: HTTPClient) async throws(ImageStoreError)
    -> Key
  {
    let token = try await ask(
      Request(.put, "\(service)/latest/api/token", headers: ["X-aws-ec2-metadata-token-ttl-seconds": "300"]),
      http)
    let headers: Headers = ["X-aws-ec2-metadata-token": String(decoding: token.body, as: UTF8.self)]
    let path = "\(service)/latest/meta-data/iam/security-credentials/"
    let roles = try await ask(Request(.get, path, headers: headers), http)
    let role = String(decoding: roles.body.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    let answer = try await ask(Request(.get, path + percentEncoded(role), headers: headers), http)
    guard let found = try? JSONReader.read(answer.body),
      let key = Key(
        found["AccessKeyId"]?.text, found["SecretAccessKey"]?.text, found["Token"]?.text,
        end: found["Expiration"]?.text)
    else { throw ImageStoreError("\(service) answered no key of this machine's role.", isAway: true) }
    return key
  }

  private static func ask(_ request: Request, _ http: HTTPClient) async throws(ImageStoreError) -> Response {
    let answer: Response
    do throws(TransferError) {
      answer = try await http.send(request, deadline: deadline)
    } catch {
      throw ImageStoreError("No key of the image store can be got: \(error.message)", isAway: true)
    }
    guard answer.status == 200 else {
      let code = ObjectListing(answer.body)["Code"].map { " " + printable($0, limit: 60) } ?? ""
      throw ImageStoreError(
        "No key of the image store can be got: \(request) was answered with \(answer.status)\(code).",
        advice: "Look at the role, and at who may take it.", isAway: answer.status >= 500)
    }
    return answer
  }
}

extension ObjectCredentials.Key {
  /// A key that was answered; nil where a part is missing.
  fileprivate init?(_ accessKey: String?, _ secretKey: String?, _ sessionToken: String?, end: String?) {
    guard let accessKey, let secretKey, let sessionToken,
      let end = end.flatMap({ WrittenTime($0)?.secondsSince1970 })
    else { return nil }
    self.init(
      accessKey: accessKey, secretKey: Secret(secretKey), sessionToken: Secret(sessionToken), end: end)
  }
}
