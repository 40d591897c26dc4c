import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn

@Suite("The program model-endpoint", .onOwnThread)
struct ExecutableTests {
  /// Beside the test program, where the package's products are.
  private var program: URL {
    get throws {
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return URL(filePath: tests).deletingLastPathComponent().appending(path: "model-endpoint")
    }
  }

  private func start(_ arguments: [String]) throws -> RunningProgram {
    try RunningProgram(program.path, arguments)
  }

  @Test(
    "It says where it listens, knows its accounts and failures, and ends with 0 on a signal",
    arguments: [SIGTERM, SIGINT])
  func serves(_ signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let (password, faults) = (folder.path("password"), folder.path("faults.json"))
    try Data("secret\n".utf8).write(to: URL(filePath: password))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
    try Data(#"{"seed": 7, "faults": {"503": "1@1"}}"#.utf8).write(to: URL(filePath: faults))
    let process = try start([
      "--port", "0", "--account", "ada@example.org:\(password)", "--dialect", "server",
      "--require-auth", "--faults", faults, "--delay", "1",
    ])
    defer { process.send(SIGKILL) }
    let line = try await process.firstLine()
    #expect(line.hasPrefix("listening on 127.0.0.1:"))
    let port = try #require(UInt16(line.dropFirst("listening on 127.0.0.1:".count)))
    let credentials = Data(#"{"email": "ada@example.org", "password": "secret"}"#.utf8)
    let login = try RawClient(port: port).request("POST", "/api/login", body: [UInt8](credentials))
    let token = try #require(login.json["accessToken"] as? String)
    let form = TestEndpoint.form(try TestPicture.jpeg())
    let statuses = try [nil, token, token].map { token in
      try RawClient(port: port).request(
        "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(token: token), body: form
      ).status
    }
    #expect(statuses == [401, 503, 200])
    process.send(signal)
    let ended = await process.ended()
    #expect(!ended.wasKilled)
    #expect(ended.status == 0)
  }

  @Test("Where other machines are let in it warns, asks for the account, and makes no other")
  func otherMachines() async throws {
    let folder = try TemporaryFolder()
    let password = try folder.write("secret\n", to: "password")
    let account = ["--account", "ada@example.org:\(password)"]
    let refused = try await start(["--host", "0.0.0.0", "--port", "0"] + account).ended()
    #expect(refused.status == 64 && refused.errors.contains("--require-auth"))
    let unknown = try await start(["--host", "192.0.2.1", "--port", "0", "--require-auth"] + account).ended()
    #expect(unknown.status == 69)
    let process = try start(["--host", "0.0.0.0", "--port", "0", "--require-auth"] + account)
    defer { process.send(SIGKILL) }
    let line = try await process.firstLine()
    #expect(process.errorsSoFar.contains("warning: 0.0.0.0 lets other machines in"))
    let port = try #require(UInt16(line.dropFirst("listening on 0.0.0.0:".count)))
    let other = [UInt8](Data(#"{"email": "eve@example.org", "password": "longenough1", "name": "Eve"}"#.utf8))
    #expect(try RawClient(port: port).request("POST", "/api/register", body: other).status == 403)
    let own = [UInt8](Data(#"{"email": "ada@example.org", "password": "secret"}"#.utf8))
    #expect(try RawClient(port: port).request("POST", "/api/login", body: own).status == 200)
    let form = TestEndpoint.form(try TestPicture.jpeg())
    let status = try RawClient(port: port).request(
      "POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(token: nil), body: form
    ).status
    #expect(status == 401)
  }

  @Test(
    "What it cannot do ends it with a code of its own",
    arguments: [
      (["--fail", "teapot=1"], 64), (["--fail", "500=0.7", "--fail", "503=0.7"], 64),
      (["--tls-cert", "x"], 64),
      (["--faults", "/nonexistent"], 66), (["--account", "a@example.org:/nonexistent"], 66),
      // Other machines, and no account, or none that is asked for.
      (["--host", "0.0.0.0", "--port", "0"], 64), (["--host", "192.0.2.1", "--require-auth"], 64),
    ] as [([String], Int32)])
  func refuses(_ arguments: [String], _ status: Int32) async throws {
    let ended = try await start(arguments).ended()
    #expect(!ended.wasKilled)
    #expect(ended.status == status)
  }
}
