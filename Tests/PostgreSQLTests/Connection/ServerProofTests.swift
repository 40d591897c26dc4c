import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite(
  "A server on another machine",
  .enabled(
    if: networkAddress != nil && Authority.isAvailable, "needs an address beside the loopback, and openssl"))
struct ServerProofTests {
  /// A cluster that speaks TLS at this machine's own address, which is treated as any other.
  private func with(
    names: String, _ body: (_ conninfo: String, _ authority: Authority, ServerCluster) async throws -> Void
  ) async throws {
    let address = try #require(networkAddress)
    let authority = try await Authority()
    var options = ServerCluster.Options()
    options.listensOnTCP = true
    options.access = ["host all all \(address)/32 trust"]
    options.settings = ["listen_addresses": "127.0.0.1,\(address)"]
    try await withServerCluster(options) { cluster in
      let certificate = try cluster.keep(try await authority.certificate(names: names), as: "server.pem")
      let key = try cluster.keep(authority.key, as: "server.key")
      try await cluster.set(["ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key])
      try await cluster.stop(.fast)
      try await cluster.start()
      try await body("host=\(address) port=\(cluster.port) user=postgres dbname=postgres", authority, cluster)
    }
  }

  /// Whether the connection is encrypted.
  private func connect(_ conninfo: String, _ proof: ServerProof = .verified) async throws -> Bool {
    let loop = try EventLoop()
    let connection = try await Connection.connect(
      ConnectionConfiguration(conninfo, serverProof: proof), on: loop)
    let row = try await connection.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").single()
    await connection.close()
    return try row.bool(0)
  }

  @Test("has to prove who it is unless that is waived, and the proof has to be in its own name")
  func proof() async throws {
    let address = try #require(networkAddress)
    try await with(names: "IP:\(address)") { (conninfo, authority, _) async throws in
      let trusted = "\(conninfo) sslrootcert=\(authority.file)"
      #expect(try await connect(trusted))
      let other = try await Authority()
      let stranger = await error { try await connect("\(conninfo) sslrootcert=\(other.file)") }
      #expect(stranger?.phase == .tls)
      let none = await error { try await connect("\(conninfo) sslrootcert=/nonexistent/root.crt") }
      #expect(none?.code == .connectionFailed && none?.isTransient == false)
      let weaker = await error { try await connect("\(trusted) sslmode=require") }
      #expect(weaker?.phase == .configuration)
      #expect(weaker?.message.contains("--database-proof as-given") == true)
      #expect(try await connect("\(conninfo) sslmode=require", .asGiven))
      #expect(try await connect("\(conninfo) sslmode=disable", .asGiven) == false)
    }
  }

  @Test("with another's certificate is not spoken to")
  func otherName() async throws {
    try await with(names: "DNS:db.example.org") { (conninfo, authority, _) async throws in
      let failure = await error { try await connect("\(conninfo) sslrootcert=\(authority.file)") }
      #expect(failure?.phase == .tls)
    }
  }

  @Test("is not what a socket or the loopback is: without a password those are asked for no certificate")
  func local() async throws {
    try await with(names: "DNS:db.example.org") { (_, _, cluster) async throws in
      #expect(try await connect(cluster.conninfo()) == false)
      #expect(try await connect(cluster.conninfo(over: .tcp)), "libpq prefers TLS, whoever it is")
      #expect(try await connect("\(cluster.conninfo(over: .tcp)) sslmode=disable") == false)
    }
  }
}
