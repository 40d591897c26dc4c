import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("The database's password, by the real executables")
struct PasswordTests {
  private static let password = "hunter2-4711"
  private static let programs = [
    ["analysisctl", "status"], ["analysis-worker", "--endpoint", "http://127.0.0.1:9"],
  ]
  /// Where somebody may have put it: what is added to the command line, and to the environment.
  private static let places: [(name: String, arguments: [String], environment: [String: String])] = [
    ("an argument", ["--database", "host=127.0.0.1 port=9 password=\(password)"], [:]),
    ("an address in an argument", ["--database", "postgresql://u:\(password)@127.0.0.1:9/d"], [:]),
    ("a connection string of the environment", [], ["ANALYSIS_DATABASE": "password=\(password)"]),
    ("a variable", ["--database", "host=127.0.0.1 port=9"], ["PGPASSWORD": password]),
    ("a configuration file", ["--config", "FOLDER/a.conf"], [:]),
    ("a service file", ["--database", "service=queue"], ["PGSERVICEFILE": "FOLDER/services"]),
  ]

  @Test("in any place but a password file is refused with 64, and not shown", arguments: programs)
  func refused(program: [String]) async throws {
    let folder = try folder()
    for place in Self.places {
      let fill = { (text: String) in text.replacingOccurrences(of: "FOLDER", with: folder.url.path) }
      let ended = await
        (try Executable(
          program[0], Array(program.dropFirst()) + place.arguments.map(fill),
          environment: place.environment.mapValues(fill))).ended()
      #expect(ended.code == 64, "\(place.name): \(ended.messages)")
      #expect(ended.messages.contains("password file of mode 0600"), "\(place.name): \(ended.messages)")
      #expect(!(ended.output + ended.messages).contains("hunter2"), "\(place.name)")
    }
  }

  @Test("in a file that others can read is refused with 77, and the file is named", arguments: programs)
  func wideFile(program: [String]) async throws {
    let folder = try folder()
    try await withTestDatabase(.migrated) { database async throws in
      let ended = await
        (try Executable(
          program[0], Array(program.dropFirst()),
          environment: ["ANALYSIS_DATABASE": database.conninfo, "PGPASSFILE": folder.path("wide")])).ended()
      #expect(ended.code == 77, "\(ended.messages)")
      #expect(ended.messages.contains("chmod 600"), "\(ended.messages)")
      #expect(ended.messages.contains(folder.path("wide")), "\(ended.messages)")
      #expect(!(ended.output + ended.messages).contains("hunter2"))
    }
  }

  @Test("in a file of mode 0600, or a service credential that systemd shows as 0440, opens the database")
  func accepted() async throws {
    let folder = try folder()
    var options = ServerCluster.Options()
    options.access = ["local all needs_password scram-sha-256"]
    try await withServerCluster(options) { cluster in
      let owner = try await Connection.connect(
        ConnectionConfiguration(cluster.conninfo()), on: try EventLoop())
      _ = try await owner.query("CREATE ROLE needs_password LOGIN SUPERUSER PASSWORD '\(Self.password)'")
      await owner.close()
      func doctor(_ environment: [String: String]) async throws -> Diagnosis.Finding? {
        let ended = await
          (try Executable(
            "analysisctl", ["doctor", "--json", "--database", "\(cluster.conninfo()) user=needs_password"],
            environment: environment)).ended()
        #expect(!(ended.output + ended.messages).contains("hunter2"))
        #expect(!ended.messages.contains("WARNING"), "\(ended.messages)")
        return try Diagnosis(ended.output).of("server.reachable").first
      }
      #expect(try await doctor(["PGPASSFILE": folder.path("private")])?.state == "ok")
      let credentials = ["PGPASSFILE": folder.path("credential"), "CREDENTIALS_DIRECTORY": folder.url.path]
      #expect(try await doctor(credentials)?.state == "ok")
      #expect(try await doctor([:])?.state == "wrong")
      #expect(chmod(folder.path("credential"), 0o600) == 0)
      try Data("*:*:*:*:other\n".utf8).write(to: URL(filePath: folder.path("credential")))
      #expect(chmod(folder.path("credential"), 0o440) == 0)
      let wrong = try #require(try await doctor(credentials))
      #expect(
        wrong.state == "wrong" && wrong.seen.contains("\"\(folder.path("credential"))\""), "\(wrong.seen)")
    }
  }

  private func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let files: [(name: String, mode: Int, text: String)] = [
      ("a.conf", 0o644, "database = \"host=127.0.0.1 port=9 password=\(Self.password)\"\n"),
      ("services", 0o600, "[queue]\nhost=127.0.0.1\nport=9\npassword=\(Self.password)\n"),
      ("wide", 0o644, "*:*:*:*:\(Self.password)\n"), ("private", 0o600, "*:*:*:*:\(Self.password)\n"),
      ("credential", 0o440, "*:*:*:*:\(Self.password)\n"),
    ]
    for file in files {
      try Data(file.text.utf8).write(to: URL(filePath: folder.path(file.name)))
      try FileManager.default.setAttributes(
        [.posixPermissions: file.mode], ofItemAtPath: folder.path(file.name))
    }
    return folder
  }
}
