import EventLoop
import Glibc
import Support
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Where a password comes from")
struct PasswordSourceTests {
  private func failure(_ conninfo: String) async throws -> PostgreSQLError {
    let loop = try EventLoop()
    return try #require(
      await error { try await Connection.connect(ConnectionConfiguration(conninfo), on: loop) })
  }

  @Test(
    "is no connection string, in whatever form, and the refusal does not show it",
    arguments: [
      "host=/nonexistent password=hunter2", "host = /nonexistent password = 'hunter2'",
      "host=/nonexistent sslpassword=hunter2", "password=hunter2", "service=nowhere password=hunter2",
      "host=/nonexistent password=other password=hunter2", "postgresql://user:hunter2@127.0.0.1:1/d",
      "postgres://user:hunter2@/d?host=/nonexistent", "postgresql://user:%68unter2@127.0.0.1:1",
      "postgresql:///d?host=/nonexistent&password=hunter2",
      "postgresql:///d?host=/nonexistent&sslpassword=hunter2",
      "postgresql://user@127.0.0.1:1/d?p%61ssword=hunter2",
    ])
  func connectionString(conninfo: String) async throws {
    let failure = try await failure(conninfo)
    #expect(failure.phase == .configuration)
    #expect(!failure.isTransient)
    #expect(!"\(failure) \(String(reflecting: failure))".contains("unter2"), "\(failure)")
    #expect(failure.message.contains("0600"), "\(failure)")
    let keyword = conninfo.contains("sslpassword") ? "sslpassword" : "password"
    #expect(failure.message.contains("holds \(keyword)"), "\(failure)")
  }

  @Test(
    "is nothing where none is given, whatever else is called so",
    arguments: [
      "host=/nonexistent user=password", "host=/nonexistent password=''", "host=/nonexistent dbname=password",
      "postgresql://password:@/d?host=/nonexistent", "postgresql://user@/password?host=/nonexistent",
      "host=/nonexistent passfile=/password=",
    ])
  func none(conninfo: String) async throws {
    #expect(try await failure(conninfo).phase == .refused)
  }

  @Test("is no variable either", arguments: ["hunter2", " "])
  func variable(value: String) throws {
    let failure = #expect(throws: PostgreSQLError.self) {
      try PasswordRule.checkEnvironment { $0 == "PGPASSWORD" ? value : nil }
    }
    #expect(failure?.phase == .configuration)
    #expect(failure?.message.contains("PGPASSWORD") == true && failure?.message.contains("0600") == true)
    #expect(failure?.message.contains("hunter2") == false)
    try PasswordRule.checkEnvironment { $0 == "PGPASSWORD" ? "" : "hunter2" }
    try PasswordRule.checkEnvironment { _ in nil }
  }

  @Test("is no service file, though the program itself may have read one and give it")
  func serviceFile() throws {
    let settings = LibpqSettings(values: ["password": "hunter2"], secrets: ["password"])
    let failure = #expect(throws: PostgreSQLError.self) {
      try PasswordRule.check(settings, given: ["dbname"])
    }
    #expect(failure?.phase == .configuration)
    #expect(
      failure?.message.contains("service file") == true && failure?.message.contains("hunter2") == false)
    try PasswordRule.check(settings, given: ["dbname", "password"])
  }

  @Test(
    "may be the program's for a login; a server that lets it in unasked is refused",
    .enabled(if: TestServer.isPrivate))
  func unasked() async throws {
    try await withTestDatabase { database in
      var configuration = database.configuration
      configuration.login = ("postgres", Secret("hunter2"))
      let failure = try #require(
        await error { try await Connection.connect(configuration, on: try EventLoop()) })
      #expect(failure.phase == .authentication && failure.message.contains("pg_hba.conf"))
      #expect(!"\(failure) \(configuration)".contains("hunter2"))
    }
  }

  @Test("may be a file that its owner alone can read, and one of any other mode is refused by name")
  func mode() async throws {
    try await withTestDatabase { database in
      let folder = try TemporaryFolder()
      try folder.write("*:*:*:*:hunter2\n", to: "pgpass")
      let file = folder.path + "/pgpass"
      let conninfo = "\(database.conninfo) passfile=\(file)"
      for mode in [0o644, 0o640, 0o660, 0o604, 0o610] as [mode_t] {
        #expect(chmod(file, mode) == 0)
        let failure = try await failure(conninfo)
        #expect(failure.phase == .passwordFile)
        #expect(!failure.isTransient)
        #expect(failure.message.contains(file) && failure.message.contains("0\(String(mode, radix: 8))"))
        #expect(failure.message.contains("chmod 600"))
        #expect(!"\(failure)".contains("hunter2"))
      }
      for mode in [0o600, 0o400] as [mode_t] {
        #expect(chmod(file, mode) == 0)
        let connection = try await Connection.connect(ConnectionConfiguration(conninfo), on: try EventLoop())
        await connection.close()
      }
    }
  }

  @Test("may be a service credential, of which libpq is given a copy of mode 0600 that goes again")
  func credential() throws {
    let folder = try TemporaryFolder()
    try folder.write("*:*:*:*:hunter2\n", to: "pgpass")
    let file = folder.path + "/pgpass"
    #expect(chmod(file, 0o440) == 0)
    var copy = CredentialCopy(of: file, in: folder.path)
    let path = try #require(copy?.path)
    var facts = stat()
    #expect(stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = read(descriptor, &bytes, bytes.count)
    #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "*:*:*:*:hunter2\n")
    let identity = (facts.st_dev, facts.st_ino)
    copy = nil
    #expect(stat(path, &facts) != 0 || (facts.st_dev, facts.st_ino) != identity)
  }

  @Test("is not taken for a credential when others can read it, or it lies elsewhere")
  func noCredential() throws {
    let folder = try TemporaryFolder()
    try folder.write("*:*:*:*:hunter2\n", to: "pgpass")
    let file = folder.path + "/pgpass"
    for mode in [0o600, 0o444, 0o460, 0o450] as [mode_t] {
      #expect(chmod(file, mode) == 0)
      #expect(CredentialCopy(of: file, in: folder.path) == nil, "0\(String(mode, radix: 8))")
    }
    #expect(chmod(file, 0o440) == 0)
    #expect(symlink(file, folder.path + "/link") == 0)
    for (path, place) in [
      (file, "/tmp"), (file, "/elsewhere"), (file, ""), (folder.path + "/link", folder.path),
      (folder.path + "/none", folder.path), (folder.path, "/tmp"),
    ] {
      #expect(CredentialCopy(of: path, in: place) == nil, "\(path) in \(place)")
    }
  }
}
