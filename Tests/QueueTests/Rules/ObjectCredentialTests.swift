import EventLoop
import Synchronization
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The key of an image store")
struct ObjectCredentialTests {
  /// Gives out keys, one after the other, and notes what it was asked.
  private final class KeyService: Sendable {
    private struct State {
      var asked: [RawConnection.Received] = []
      var keys = 0
      var status = 200
    }

    private final class Record: Sendable {
      let state = Mutex(State())
    }

    private let record = Record()
    private let server: RawServer
    let loop: EventLoop

    /// - Parameter answer: What it answers to a request, by how many keys it has given out.
    init(_ answer: @escaping @Sendable (RawConnection.Received, Int) -> (body: String, isKey: Bool)) throws {
      let record = record
      loop = try EventLoop(name: "keys")
      server = try RawServer { connection in
        while let request = try connection.readRequest() {
          let (status, body) = record.state.withLock { state in
            state.asked.append(request)
            let (body, isKey) = answer(request, state.keys + 1)
            if isKey { state.keys += 1 }
            return (state.status, body)
          }
          try connection.respond(status, status == 200 ? body : "<Error><Code>AccessDenied</Code></Error>")
        }
      }
    }

    var url: String { server.url }
    var asked: [RawConnection.Received] { record.state.withLock { $0.asked } }
    func answer(_ status: Int) { record.state.withLock { $0.status = status } }

    func with(_ source: ObjectCredentials.Source, _ body: (ObjectCredentials) async throws -> Void)
      async throws
    {
      let credentials = ObjectCredentials(source, loop: loop)
      try await body(credentials)
      await credentials.close()
    }
  }

  /// 2020-09-13T12:26:40Z; the keys end an hour later.
  private static let moment = 1_600_000_000.0
  private static let end = "2020-09-13T13:26:40Z"

  private static func service() throws -> KeyService {
    try KeyService { _, number in
      (
        """
        <AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>A\(number)</AccessKeyId>
        <SecretAccessKey>s&amp;\(number)</SecretAccessKey><SessionToken>t\(number)</SessionToken>
        <Expiration>\(end)</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>
        """, true
      )
    }
  }

  private func withRole(_ body: (KeyService, ObjectCredentials) async throws -> Void) async throws {
    let (service, folder) = (try Self.service(), try TemporaryFolder())
    let token = try folder.write(Array("e30.secret+token\n".utf8), to: "token")
    let role = "arn:aws:iam::1:role/images"
    try await service.with(.webIdentity(service: service.url, role: role, tokenFile: token)) {
      try await body(service, $0)
    }
  }

  /// Asks a store for an object, by what its file says.
  private static func ask(
    _ address: String, _ authority: Authority, _ further: String, in folder: TemporaryFolder
  ) async throws -> Result<[UInt8]?, ImageStoreError> {
    let text = """
      address = \(address)
      ca-file = \(authority.file)
      access-key = A
      secret-key = s

      """
    let file = try folder.write(text + further, to: "store.conf")
    let client = ObjectClient(
      try ObjectSettings.read(file, environment: [:]), loop: try EventLoop(name: "store"))
    let answer: Result<[UInt8]?, ImageStoreError>
    do throws(ImageStoreError) {
      answer = .success(try await client.get("x"))
    } catch {
      answer = .failure(error)
    }
    await client.close()
    return answer
  }

  @Test(
    "goes with a client's certificate to a store that asks for one",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func clientCertificate() async throws {
    let (authority, folder) = (try await Authority(), try TemporaryFolder())
    let server = try await HelperServer(
      "/usr/bin/python3",
      [
        packagePath("scripts/lib/peers/tls-server.py"),
        try await authority.certificate(names: "DNS:localhost"),
        authority.key, "--clients-of", authority.file,
      ])
    func ask(_ further: String) async throws -> Result<[UInt8]?, ImageStoreError> {
      try await Self.ask("https://localhost:\(server.port)/images", authority, further, in: folder)
    }
    #expect(try await ask("certificate = \(try await authority.client())\n").get() == Array("0".utf8))
    guard case .failure(let error) = try await ask("") else {
      Issue.record("the server was content with no certificate")
      return
    }
    #expect(error.isAway)
    await #expect(throws: SystemError.self) { try await ask("certificate = \(folder.path("none"))\n") }
  }

  @Test(
    "goes by TLS through the proxy that the store's file names, and else to no proxy",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func proxy() async throws {
    let (authority, folder) = (try await Authority(), try TemporaryFolder())
    let server = try await HelperServer(
      "/usr/bin/python3",
      [
        packagePath("scripts/lib/peers/tls-server.py"),
        try await authority.certificate(names: "DNS:store.invalid"), authority.key,
      ])
    let proxy = try await HelperServer("/usr/bin/python3", [packagePath("scripts/lib/peers/proxy.py")])
    // Nobody but the proxy knows the name.
    let address = "https://store.invalid:\(server.port)/images"
    let line = "proxy = http://127.0.0.1:\(proxy.port)\n"
    #expect(try await Self.ask(address, authority, line, in: folder).get() == Array("0".utf8))
    for other in ["", "proxy = http://127.0.0.1:\(server.port)\n"] {
      guard case .failure(let error) = try await Self.ask(address, authority, other, in: folder) else {
        Issue.record("it went another way: \(other)")
        continue
      }
      #expect(error.isAway)
    }
    await #expect(throws: SystemError.self) {
      try await Self.ask(address, authority, "proxy = squid:3128\n", in: folder)
    }
  }

  @Test("is a role's that the token of a file may take, asked for once however many want it")
  func webIdentity() async throws {
    try await withRole { (service, credentials) async throws in
      let keys = try await withThrowingTaskGroup(of: ObjectCredentials.Key.self) { group in
        for _ in 0..<20 { group.addTask { try await credentials.current(at: Self.moment) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(
        keys.allSatisfy {
          $0.accessKey == "A1" && $0.secretKey.reveal() == "s&1" && $0.sessionToken?.reveal() == "t1"
        })
      let asked = try #require(service.asked.first)
      #expect(service.asked.count == 1 && asked.method == "POST")
      let form = String(decoding: asked.body, as: UTF8.self)
      #expect(
        form.contains("Action=AssumeRoleWithWebIdentity")
          && form.contains("WebIdentityToken=e30.secret%2Btoken")
          && form.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fimages"), "\(form)")
    }
  }

  @Test("is another before it ends, and the same for its last minutes where there is none")
  func renewed() async throws {
    try await withRole { (service, credentials) async throws in
      #expect(try await credentials.current(at: Self.moment).accessKey == "A1")
      #expect(try await credentials.current(at: Self.moment + 3000).accessKey == "A1")
      #expect(try await credentials.current(at: Self.moment + 3400).accessKey == "A2")
      service.answer(503)
      #expect(try await credentials.current(at: Self.moment + 3500).accessKey == "A2")
      let error = await #expect(throws: ImageStoreError.self) {
        try await credentials.current(at: Self.moment + 3700)
      }
      #expect(error?.isAway == true && error?.description.contains("503 AccessDenied") == true)
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test("that was refused is replaced by another, where there is one")
  func refused() async throws {
    try await withRole { (service, credentials) async throws in
      let first = try await credentials.current(at: Self.moment)
      let second = try #require(try await credentials.other(than: first))
      #expect(second.accessKey == "A2")
      // Who is refused with the old one, too, is not asked for again.
      #expect(try await credentials.other(than: first) == second)
      #expect(service.asked.count == 2)
      service.answer(403)
      let error = await #expect(throws: ImageStoreError.self) { try await credentials.other(than: second) }
      #expect(error?.isAway == false && error?.advice?.contains("role") == true)
    }
  }

  @Test("is the machine's role's, by the metadata service of its cloud")
  func instance() async throws {
    let service = try KeyService { request, number in
      switch request.target {
      case "/latest/api/token": ("session", false)
      case "/latest/meta-data/iam/security-credentials/": ("images-role", false)
      default:
        (
          #"{"Code":"Success","AccessKeyId":"A\#(number)","SecretAccessKey":"s","Token":"t","Expiration":"\#(Self.end)"}"#,
          true
        )
      }
    }
    try await service.with(.instance(service: service.url)) { (credentials) async throws in
      let key = try await credentials.current(at: Self.moment)
      #expect(key.accessKey == "A1" && key.sessionToken?.reveal() == "t")
      #expect(
        service.asked.map { "\($0.method) \($0.target)" } == [
          "PUT /latest/api/token", "GET /latest/meta-data/iam/security-credentials/",
          "GET /latest/meta-data/iam/security-credentials/images-role",
        ])
      #expect(service.asked[0].headers["x-aws-ec2-metadata-token-ttl-seconds"] == "300")
      #expect(service.asked.dropFirst().allSatisfy { $0.headers["x-aws-ec2-metadata-token"] == "session" })
    }
  }

  @Test(
    "is named by the store's file, or by the variables that Kubernetes sets; a word that is none is refused")
  func files() throws {
    let folder = try TemporaryFolder()
    func read(_ lines: String, _ environment: [String: String] = [:]) throws -> ObjectCredentials.Source {
      let path = try folder.write(
        Array("address = https://s3.example.org/images\n\(lines)".utf8), to: "store")
      return try ObjectSettings.read(path, environment: environment).credentials
    }
    let pod = ["AWS_ROLE_ARN": "role-of-pod", "AWS_WEB_IDENTITY_TOKEN_FILE": "/run/token"]
    guard case .webIdentity(let service, let role, let token) = try read("credentials = web-identity\n", pod),
      case .instance(let metadata) = try read("credentials = instance\n")
    else {
      Issue.record("the word was not taken")
      return
    }
    #expect(
      service == "https://sts.us-east-1.amazonaws.com" && role == "role-of-pod" && token == "/run/token")
    #expect(metadata == "http://169.254.169.254")
    for lines in ["", "credentials = web-identity\n", "credentials = other\n", "access-key = k\n"] {
      #expect(throws: SystemError.self) { try read(lines) }
    }
  }

  @Test("is read again from the file when it was refused")
  func written() async throws {
    let folder = try TemporaryFolder()
    func write(_ key: String) throws -> String {
      try folder.write(
        Array("address = http://127.0.0.1:9/images\naccess-key = \(key)\nsecret-key = s\n".utf8), to: "store")
    }
    let source = try ObjectSettings.read(try write("one"), environment: [:]).credentials
    try await Self.service().with(source) { (credentials) async throws in
      let first = try await credentials.current(at: Self.moment)
      #expect(first.accessKey == "one")
      #expect(try await credentials.other(than: first) == nil)
      _ = try write("two")
      #expect(try await credentials.other(than: first)?.accessKey == "two")
      try folder.remove("store")
      #expect(try await credentials.other(than: first)?.accessKey == "two")
    }
  }
}
