import EventLoop
import Glibc
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("A server on this machine")
struct LocalProofTests {
  private func connect(
    _ conninfo: String, _ proof: ServerProof = .verified, password: String? = "hunter2"
  ) async -> PostgreSQLError? {
    await error {
      let connection = try await Connection.connect(
        ConnectionConfiguration(
          conninfo, connectTimeout: patience, serverProof: proof,
          keywords: password.map { ["password": $0] } ?? [:]), on: try EventLoop())
      await connection.close()
    }
  }

  @Test(
    "in whose place somebody else listens on the loopback gets no password, whatever it asks for",
    .enabled(if: RogueServer.isAvailable), arguments: RogueServer.Method.allCases)
  func rogueOnLoopback(method: RogueServer.Method) async throws {
    for mode in ["", " sslmode=allow", " sslmode=require"] {
      let rogue = try await RogueServer(asking: method)
      let failure = try #require(await connect(rogue.conninfo + mode))
      #expect(!failure.isTransient && !"\(failure)".contains("hunter2"), "\(failure)")
      #expect(failure.phase == (mode.hasSuffix("require") ? .tls : .proof), "\(failure)")
      #expect(!rogue.heard.contains("hunter2") && !rogue.heard.contains("md5"), "\(rogue.heard)")
      #expect(!rogue.heard.contains("statement"))
    }
  }

  @Test("gets it where that was asked for by name", .enabled(if: RogueServer.isAvailable))
  func asGiven() async throws {
    let rogue = try await RogueServer(asking: .cleartext)
    _ = await connect(rogue.conninfo, .asGiven)
    #expect(rogue.heard.contains("hunter2"))
  }

  @Test("is not asked for a proof where there is no password to lose", .enabled(if: RogueServer.isAvailable))
  func noPassword() async throws {
    let rogue = try await RogueServer(asking: .cleartext)
    let failure = await connect("\(rogue.conninfo) passfile=/nonexistent", password: nil)
    #expect(failure?.phase == .authentication)
  }

  @Test(
    "in whose place another user listens on its socket gets nothing, unless it is named",
    .enabled(if: RogueServer.isAvailableAsAnother))
  func rogueOnSocket() async throws {
    for method in RogueServer.Method.allCases {
      let rogue = try await RogueServer(asNobodyAsking: method)
      let failure = try #require(await connect(rogue.conninfo))
      #expect(failure.phase == .proof && !failure.isTransient, "\(failure)")
      #expect(failure.message.contains("65534"), "\(failure)")
      #expect(rogue.heard.isEmpty)
      let named = try #require(await connect("\(rogue.conninfo) requirepeer=postgres"))
      #expect(named.phase == .proof, "\(named)")
      #expect(rogue.heard.isEmpty)
    }
    let rogue = try await RogueServer(asNobodyAsking: .cleartext)
    _ = await connect("\(rogue.conninfo) requirepeer=nobody")
    #expect(rogue.heard.contains("hunter2"))
  }

  @Test(
    "that knows the password is connected to over the loopback; with libpq 15 it has to speak TLS",
    .enabled(if: TestServer.isPrivate && Authority.isAvailable))
  func genuine() async throws {
    let authority = try await Authority()
    var options = ServerCluster.Options()
    options.listensOnTCP = true
    options.access = ["host all needs_password 127.0.0.1/32 scram-sha-256"]
    try await withServerCluster(options) { cluster in
      let owner = try await Connection.connect(
        ConnectionConfiguration(cluster.conninfo()), on: try EventLoop())
      _ = try await owner.query("CREATE ROLE needs_password LOGIN PASSWORD 'hunter2'")
      await owner.close()
      let conninfo = "\(cluster.conninfo(over: .tcp)) user=needs_password"
      let knowsMethods = LocalProof.usedVersion >= 160_000
      let plain = await connect(conninfo)
      #expect(plain?.phase == (knowsMethods ? nil : .proof), "\(String(describing: plain))")
      #expect(await connect("\(conninfo) sslmode=disable")?.phase == (knowsMethods ? nil : .configuration))
      let certificate = try cluster.keep(
        try await authority.certificate(names: "DNS:elsewhere"), as: "server.pem")
      let key = try cluster.keep(authority.key, as: "server.key")
      try await cluster.set(["ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key])
      try await cluster.restart()
      #expect(await connect(conninfo) == nil)
      #expect(await connect(conninfo, password: "wrong")?.phase == .authentication)
    }
  }

  @Test(
    "proves what libpq can demand",
    arguments: [
      ([:], 150_015, .demands(["channel_binding": "require"])),
      ([:], 160_000, .demands(["require_auth": "scram-sha-256"])),
      (["sslmode": "require"], 180_000, .demands(["require_auth": "scram-sha-256"])),
      (["sslmode": "verify-ca"], 150_000, .demands(["channel_binding": "require"])),
      (["sslmode": "verify-full"], 150_000, .enough), (["sslmode": "verify-full"], 180_000, .enough),
      (["channel_binding": "require"], 150_000, .enough), (["channel_binding": "require"], 180_000, .enough),
      (["require_auth": "scram-sha-256"], 160_000, .enough),
      (["require_auth": "gss,scram-sha-256"], 160_000, .enough),
    ] as [([String: String], Int32, LocalProof.Verdict)])
  func verdict(settings: [String: String], version: Int32, expected: LocalProof.Verdict) {
    #expect(judge("127.0.0.1", settings, version) == expected)
    #expect(judge("127.0.0.1", settings, version, hasPassword: false) == .enough)
  }

  @Test(
    "is refused where the settings let a password go",
    arguments: [
      (["sslmode": "disable"], 150_000), (["channel_binding": "disable"], 150_000),
      (["require_auth": "password"], 160_000), (["require_auth": "md5"], 160_000),
      (["require_auth": "scram-sha-256,none"], 160_000), (["require_auth": "!password"], 180_000),
    ] as [([String: String], Int32)])
  func refused(settings: [String: String], version: Int32) {
    guard case .refused = judge("localhost", settings, version) else {
      Issue.record("\(settings) was taken")
      return
    }
  }

  @Test("is trusted at its socket when it is root's, postgres's, our own or the named one's")
  func socket() {
    for (peer, isTrusted) in [(0, true), (geteuid(), true), (4242, false), (65534, false)] as [(uid_t, Bool)]
    {
      let judged = judge("/run/postgresql", [:], 150_000, peer: peer)
      #expect((judged == .enough) == isTrusted, "\(peer)")
      #expect(judge("/run/postgresql", ["requirepeer": "pg"], 150_000, peer: peer) == .enough)
    }
    #expect(judge("/run/postgresql", [:], 150_000) == .enough, "not connected yet")
    if let postgres = getpwnam("postgres") {
      #expect(judge("@abstract", [:], 180_000, peer: postgres.pointee.pw_uid) == .enough)
    }
  }

  private func judge(
    _ name: String, _ settings: [String: String], _ version: Int32, hasPassword: Bool = true,
    peer: uid_t? = nil
  ) -> LocalProof.Verdict {
    LocalProof(
      host: HostList.Host(name: name, address: "", port: "5432"), settings: settings,
      hasPassword: hasPassword,
      peer: peer, libpqVersion: version
    ).verdict()
  }
}
