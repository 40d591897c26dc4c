import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("Secrets are kept")
struct SecretTests {
  @Test("a secret shows itself nowhere")
  func redacted() {
    let secret = Secret("hunter2")
    let credentials = Credentials(email: "a@example.org", password: secret, name: "Reception")
    var dumped = ""
    dump(secret, to: &dumped)
    dump(credentials, to: &dumped)
    dump(["x": credentials], to: &dumped)
    let shown =
      "\(secret) \(String(reflecting: secret)) \(credentials) \(String(reflecting: credentials)) \([credentials]) \(dumped)"
    #expect(!shown.contains("hunter2") && !shown.contains("example.org") && !shown.contains("Reception"))
    #expect(secret.reveal() == "hunter2")
  }

  @Test("a private file is read; the last line break is not part of the text", arguments: [0o600, 0o400])
  func privateFile(mode: Int) throws {
    let folder = try TemporaryFolder()
    let secret = try SecretFile.read(try folder.write("two\nlines\r\n", to: "key", mode: mode))
    #expect(secret.reveal() == "two\nlines")
    #expect(secret.bytes == Array("two\nlines\r\n".utf8))
  }

  @Test(
    "a file that others can use is refused, with the remedy",
    arguments: [0o644, 0o640, 0o604, 0o620, 0o602, 0o610])
  func openFile(mode: Int) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("hunter2", to: "key", mode: mode)
    let error = #expect(throws: SystemError.self) { try SecretFile.read(path) }
    #expect(error?.code == .notPrivate)
    #expect(error?.message == "holds a secret but has mode 0\(String(mode, radix: 8)); run 'chmod 600' on it")
  }

  @Test("what is no regular file, empty or too long is refused")
  func notAFile() throws {
    let folder = try TemporaryFolder()
    let fifo = "\(folder.path)/fifo"
    #expect(mkfifo(fifo, 0o600) == 0)
    let paths = [
      fifo, folder.path, "/dev/null", try folder.write("", to: "empty"),
      try folder.write(String(repeating: "x", count: 70000), to: "long"),
    ]
    for path in paths {
      let error = #expect(throws: SystemError.self, "\(path)") { try SecretFile.read(path) }
      #expect(error?.code == .invalid)
    }
    let missing = "\(folder.path)/none"
    let error = #expect(throws: SystemError.self) { try SecretFile.read(missing) }
    #expect(error?.code == .unreadable)
  }

  @Test("a bare name is looked for in systemd's folder of credentials, where the group's bits are the mask")
  func systemd() throws {
    let folder = try TemporaryFolder()
    _ = try folder.write("from systemd\n", to: "backend", mode: 0o440)
    let environment = ["CREDENTIALS_DIRECTORY": folder.path]
    #expect(try SecretFile.read("backend", environment: environment).reveal() == "from systemd")
    #expect(throws: SystemError.self) { try SecretFile.read("backend") }
    let whole = "\(folder.path)/backend"
    #expect(throws: SystemError.self) { try SecretFile.read(whole, environment: environment) }
  }

  @Test(
    "credentials come as JSON or as lines",
    arguments: [
      #"{"email": "a@example.org", "password": "p w", "name": "Reception"}"#,
      "# account\nemail = a@example.org\npassword = \"p w\"\nname = Reception\n",
    ])
  func credentials(text: String) throws {
    let folder = try TemporaryFolder()
    let read = try Credentials.read(try folder.write(text, to: "account"))
    #expect(read == Credentials(email: "a@example.org", password: Secret("p w"), name: "Reception"))
  }

  @Test(
    "wrong credentials are told without a word of them",
    arguments: [
      (#"{"email": "hunter2", "password": 5}"#, SystemError.Code.syntax), ("{hunter2", .syntax),
      (#"{"email": "hunter2"}"#, .invalid), ("email = hunter2\n", .invalid),
      ("email = a\nhunter2 = b\n", .unknownKey),
      ("email = a\npassword = \"hunter2\n", .syntax), ("hunter2", .syntax),
    ])
  func badCredentials(text: String, code: SystemError.Code) throws {
    let folder = try TemporaryFolder()
    let path = try folder.write(text, to: "account")
    let error = #expect(throws: SystemError.self) { try Credentials.read(path) }
    #expect(error?.code == code)
    #expect(error?.description.contains("hunter2") == false)
  }
}
