import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "The worker's memory under a hostile answer",
  .disabled(if: Sanitizer.keepsMemory, "the sanitizer keeps what was freed"))
struct MemoryTests {
  /// What the process has held at most, in MiB.
  private func peak(of worker: Executable) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(worker.processID)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
      / 1024
  }

  /// 64 MiB of zeros in a gzip stream, made by gzip itself.
  private static func bomb() async throws -> [UInt8] {
    try await HelperProgram.output("/bin/sh", ["-c", "head -c 67108864 /dev/zero | gzip -9"])
  }

  private func row(_ name: String) async throws -> Row {
    switch name {
    case "an endless body":
      return Row(name) { _ in
        .raw { connection in
          try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
          let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x20, count: 65536) + Array("\r\n".utf8)
          while true { try connection.write(chunk) }
        }
      }
    case "an endless header":
      return Row(name) { _ in
        .raw { connection in
          try connection.write("HTTP/1.1 200 OK\r\n")
          let line = Array("X-Line: \(String(repeating: "y", count: 1000))\r\n".utf8)
          while true { try connection.write(line) }
        }
      }
    case "endless interim answers":
      return Row(name) { _ in
        .raw { connection in
          while true { try connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") }
        }
      }
    default:
      let bomb = try await Self.bomb()
      return Row(name) { _ in
        .raw { connection in
          try connection.write(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
          try connection.write(bomb)
        }
      }
    }
  }

  @Test(
    "stays flat, and each answer is given up with its reason",
    arguments: [
      "an endless body", "an endless header", "endless interim answers", "a gzip bomb",
    ])
  func flat(name: String) async throws {
    let hostile = try await row(name)
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let attack = Switch()
      let backend = try AccountInstallation.backend { call in
        // First a good answer, so that all that a worker needs is there when it is measured.
        attack.isOn ? try hostile.answer(call) : .analysis(call)
      }
      let worker = try installation.start(backend.url, ["--concurrency", "8", "--prefetch", "0"])
      try await eventually { try await installation.queue.results == 1 }
      let before = try peak(of: worker)
      attack.turnOn()
      let picture = try await drawnPicture()
      _ = try await installation.queue.submit(
        40, user: AccountInstallation.user, maxAttempts: 1, image: picture)
      try await eventually { try await installation.queue.count("dead") == 40 }
      let growth = try peak(of: worker) - before
      // Eight calls of at most 1 MiB of answer each; the bomb alone would be 64 MiB, the endless ones more.
      #expect(growth < 48, "\(growth) MiB more")
      _ = await installation.stop(worker)
      let attempts = try await installation.attempts()
      #expect(attempts.count == 40)
      #expect(
        attempts.allSatisfy { $0.kind == "invalid_answer" && $0.maybeCounted }, "\(attempts.first as Any)")
    }
  }
}
