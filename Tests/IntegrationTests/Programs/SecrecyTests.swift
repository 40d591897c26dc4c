import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("What a program keeps to itself, whatever its environment asks for")
struct SecrecyTests {
  #if DEBUG
    @Test("its memory: a crash writes no backtrace, and no values")
    func backtrace() async throws {
      try await Installation.with(jobs: 1) { installation in
        let worker = try installation.worker(
          failpoints: "before-upload=crash",
          script: "export SWIFT_BACKTRACE=enable=yes,color=no,interactive=no; exec \"$0\" \"$@\"")
        let ended = await worker.ended()
        #expect(ended.wasKilled && ended.code == SIGABRT, "\(ended.messages)")
        #expect(!ended.messages.contains("Program crashed") && !ended.messages.contains("Registers"))
        #expect(!ended.messages.contains("Thread 0"), "\(ended.messages)")
        try await installation.expireLeases(of: ended)
        try await installation.drain()
      }
    }
  #endif

  @Test(
    "the keys of its connections: no file of them appears",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func keyLog() async throws {
    let folder = try TemporaryFolder()
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: "IP:127.0.0.1")
    try await RunningEndpoint.with(["--tls-cert", certificate, "--tls-key", authority.key]) { endpoint in
      try await AccountInstallation.with(jobs: 2) { installation in
        let address = endpoint.url.replacing("http://", with: "https://")
        let environment = installation.queue.environment.merging(
          ["SSLKEYLOGFILE": folder.path("worker.keys")]) { $1 }
        let worker = try Executable(
          "analysis-worker", ["--drain", "--endpoint", address, "--ca-file", authority.file],
          environment: environment)
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(try await installation.queue.results == 2)
        let doctor = try Executable(
          "analysisctl", ["doctor", "--endpoint", address, "--ca-file", authority.file],
          environment: environment)
        #expect(await doctor.ended().output.contains("endpoint.certificate"))
        #expect(try folder.names.isEmpty)
      }
    }
  }

  @Test(
    "not its certificate from the endpoint that asks for it; what is wrong with it is said at the start",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func clientCertificate() async throws {
    let authority = try await Authority()
    let server = try await HelperServer(
      "/usr/bin/python3",
      [
        packagePath("scripts/lib/peers/tls-server.py"),
        try await authority.certificate(names: "DNS:localhost"),
        authority.key, "--clients-of", authority.file,
      ])
    let trust = ["--ca-file", authority.file, "--concurrency", "1"]
    let certificate = try await authority.client()
    try await AccountInstallation.with(jobs: 1, maxAttempts: 1) { installation in
      // The server answers with a number, which is no analysis; but it answers.
      try await installation.drain(
        "https://localhost:\(server.port)", trust + ["--endpoint-certificate", certificate], account: false)
      #expect(try await installation.attempts().map(\.status) == [200])
    }
    try await AccountInstallation.with(jobs: 1, maxAttempts: 1) { installation in
      try await installation.drain(
        "https://localhost:\(server.port)", horizon: "1s", trust, account: false)
      #expect(try await installation.attempts().allSatisfy { $0.status == nil })
      #expect(try await installation.queue.results == 0)
    }
    #expect(chmod(certificate, 0o640) == 0)
    for (file, code, words) in [
      (certificate, 77, "chmod 600"), ("/nonexistent/client.pem", 66, "cannot be opened"),
      (try await authority.client(days: -1), 64, "expired"),
    ] as [(String, Int32, String)] {
      let ended = await
        (try Executable(
          "analysis-worker", ["--endpoint", "https://localhost:1", "--endpoint-certificate", file],
          environment: ["ANALYSIS_DATABASE": "host=/nonexistent"])).ended()
      #expect(ended.code == code && ended.messages.contains(words), "\(ended.messages)")
      #expect(ended.messages.contains(file))
    }
  }
}
