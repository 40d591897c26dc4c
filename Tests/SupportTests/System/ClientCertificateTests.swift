import Glibc
import TestSupport
import Testing

@testable import Support

@Suite(
  "A client's certificate", .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
struct ClientCertificateTests {
  private func failure(_ path: String, now: UnixTime = .now) -> SystemError? {
    #expect(throws: SystemError.self) { _ = try ClientCertificate.read(path, now: now) }
  }

  @Test("is read with its key and its dates, and does not show itself")
  func readable() async throws {
    let authority = try await Authority()
    let file = try await authority.client()
    let certificate = try ClientCertificate.read(file)
    #expect(certificate.validity.contains(.now))
    var shown = ""
    dump(certificate, to: &shown)
    #expect(!shown.contains("PRIVATE") && !"\(certificate)".contains("PRIVATE"))
  }

  @Test("is refused before and after its time, by the date")
  func dates() async throws {
    let authority = try await Authority()
    let file = try await authority.client()
    let validity = try ClientCertificate.read(file).validity
    let late = UnixTime(seconds: validity.upperBound.seconds + 1)
    #expect(
      failure(file, now: late)?.message.contains("expired on \(validity.upperBound.rfc3339Seconds)") == true)
    let early = UnixTime(seconds: validity.lowerBound.seconds - 1)
    #expect(failure(file, now: early)?.message.contains("clock") == true)
    #expect(failure(try await authority.client(days: -1))?.message.contains("expired on") == true)
  }

  @Test("is refused in a file that others can read, that is not there, or that is empty")
  func files() async throws {
    let authority = try await Authority()
    let file = try await authority.client()
    #expect(chmod(file, 0o644) == 0)
    let open = failure(file)
    #expect(open?.code == .notPrivate && open?.message.contains("chmod 600") == true)
    #expect(failure("/nonexistent/client.pem")?.code == .unreadable)
    let folder = try TemporaryFolder()
    #expect(failure(try folder.write("", to: "empty.pem"))?.code == .invalid)
  }

  @Test("is refused without a certificate, without its own key, and with a key behind a password")
  func parts() async throws {
    let folder = try TemporaryFolder()
    let authority = try await Authority()
    let certificate = try await HelperProgram.output(
      "/bin/cat", [try await authority.certificate(names: "DNS:a")])
    let key = try await HelperProgram.output("/bin/cat", [authority.key])
    #expect(failure(try folder.write(key, to: "key.pem"))?.message.contains("no certificate") == true)
    #expect(failure(try folder.write(certificate, to: "c.pem"))?.message.contains("no private key") == true)
    let stranger = try await Authority()
    let other = try await HelperProgram.output("/bin/cat", [stranger.key])
    let foreign = failure(try folder.write(certificate + other, to: "foreign.pem"))
    #expect(foreign?.message.contains("not the first certificate's") == true)
    let locked = try await HelperProgram.output(
      "/usr/bin/openssl", ["pkey", "-in", authority.key, "-aes256", "-passout", "pass:hunter2"])
    let behind = failure(try folder.write(certificate + locked, to: "locked.pem"))
    #expect(behind?.message.contains("behind a password") == true)
  }
}
