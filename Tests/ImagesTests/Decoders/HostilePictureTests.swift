import Foundation
import TestSupport
import Testing

@testable import Images

@Suite("A picture that harms its decoder is refused, and no other")
struct HostilePictureTests {
  /// Gives a costly picture to a decoder, and its process to `harm` when it is at work on it.
  private func refusal(
    by decoders: ImageDecoders, _ harm: (Int32) -> Void
  ) async throws -> UndecodedImage? {
    let file = try Drawn.costlyJPEG()
    let process = try await idleForCostly(of: decoders)
    async let failure = decoders.failure(file)
    try await eventually { try Self.processorTicks(process) >= 20 }
    harm(process)
    return await failure
  }

  /// The process that decodes the next costly picture: it has refused one of which there was the beginning alone.
  private func idleForCostly(of decoders: ImageDecoders) async throws -> Int32 {
    _ = await decoders.failure(GatedDecoder.picture(20_000))
    return try #require(decoders.idleProcesses.first)
  }

  /// What a process has used of the processor, in hundredths of a second.
  private static func processorTicks(_ process: Int32) throws -> Int {
    let words = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: " ")
    return words[13...14].compactMap { Int($0) }.reduce(0, +)
  }

  private func expectSound(_ decoders: ImageDecoders) async throws {
    let file = try Drawn.jpeg(64, 48)
    #expect(try await decoders.clean(file) == (try ImageCleaner().clean(file)))
  }

  @Test("One that takes too much of the processor's time is refused for good")
  func processor() async throws {
    let decoders = ImageDecoders(slots: 1, arguments: ["--cpu-seconds", "0"])
    let refusal = try #require(await decoders.refusal(try Drawn.costlyJPEG()))
    #expect(refusal.code == .decoderFailed)
    #expect(refusal.message.contains("processor's time"))
    try await expectSound(decoders)
  }

  @Test("The time is counted for each picture anew")
  func manyPictures() async throws {
    let decoders = ImageDecoders(slots: 1, arguments: ["--cpu-seconds", "0"])
    let file = try Drawn.jpeg(1001, 1001, orientation: 6)
    let begin = ContinuousClock.now
    var process: [Int32] = []
    // More seconds in all than one picture may take.
    while ContinuousClock.now - begin < .seconds(5) {
      _ = try await decoders.clean(file)
      if process.isEmpty { process = decoders.idleProcesses }
    }
    #expect(decoders.idleProcesses == process)
  }

  @Test("One that takes too much memory is refused")
  func memory() async throws {
    let decoders = ImageDecoders(slots: 1, arguments: ["--memory-megabytes", "50"])
    let refusal = try #require(await decoders.refusal(try Drawn.costlyJPEG()))
    #expect([.notProcessed, .decoderFailed].contains(refusal.code))
    try await expectSound(decoders)
  }

  @Test("One whose decoder is killed is refused, but may come again: it may be good")
  func killed() async throws {
    let decoders = ImageDecoders(slots: 1)
    guard case .refused(let refusal) = try await refusal(by: decoders, { kill($0, SIGKILL) }) else {
      Issue.record("it was not refused")
      return
    }
    #expect(refusal.code == .notProcessed)
    try await expectSound(decoders)
  }

  @Test("One that crashes its decoder is refused for good", arguments: [SIGSEGV, SIGABRT, SIGILL, SIGBUS])
  func crash(signal: Int32) async throws {
    let decoders = ImageDecoders(slots: 1)
    guard case .refused(let refusal) = try await refusal(by: decoders, { kill($0, signal) }) else {
      Issue.record("it was not refused")
      return
    }
    #expect(refusal.code == .decoderFailed)
    #expect(refusal.message.contains("crashed (signal \(signal))"))
    try await expectSound(decoders)
  }

  @Test("One that nobody waits for any more is let go, and its decoder with it")
  func cancelled() async throws {
    let decoders = ImageDecoders(slots: 1)
    let file = try Drawn.costlyJPEG()
    let process = try await idleForCostly(of: decoders)
    let cleaning = Task { await decoders.failure(file) }
    try await eventually { try Self.processorTicks(process) >= 20 }
    let waiting = Task { await decoders.failure(file) }
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    cleaning.cancel()
    #expect(await cleaning.value == .cancelled)
    #expect(ImageDecodersTests.hasEnded(process))
    try await expectSound(decoders)
  }

  // MARK: - Programs that are no sound decoder

  @Test("One whose decoder never answers is refused after a time, but may come again")
  func hangs() async throws {
    let stub = try Stub("time.sleep(1000)")
    let decoders = ImageDecoders(
      slots: 1, program: stub.program, arguments: stub.arguments, deadline: .milliseconds(300))
    #expect(await decoders.refusal(try Drawn.jpeg(64, 48))?.code == .notProcessed)
  }

  static let answers = [
    "say(b'secret' * 100)",
    // A clean picture of a petabyte, and one without a side.
    "say((1).to_bytes(8, 'little') + (1 << 50).to_bytes(8, 'little') + bytes(48))",
    "say((1).to_bytes(8, 'little') + bytes(56))",
    // A picture of no byte, and one that is none, both with sides that a picture may have.
    "say(b''.join(n.to_bytes(8, 'little') for n in [1, 0, 64, 48, 0, 1, 0, 0]))",
    "say(b''.join(n.to_bytes(8, 'little') for n in [1, 6, 64, 48, 0, 1, 0, 0]) + b'secret')",
    // A refusal of no known code, and one that would move the cursor.
    "w = b'secret\\n\\nWords.'; say(bytes(8) + len(w).to_bytes(8, 'little') + bytes(48) + w)",
    "w = b'damaged\\n\\n\\x1b[2Jsecret'; say(bytes(8) + len(w).to_bytes(8, 'little') + bytes(48) + w)",
  ]

  @Test(
    "One whose decoder answers nonsense is refused, and nothing of the answer is told", arguments: answers)
  func nonsense(answer: String) async throws {
    let stub = try Stub("\(answer); time.sleep(1000)")
    let decoders = ImageDecoders(slots: 1, program: stub.program, arguments: stub.arguments)
    let refusal = try #require(await decoders.refusal(try Drawn.jpeg(64, 48)))
    #expect(refusal.code == .decoderFailed)
    #expect(!refusal.message.contains("secret"))
  }

  @Test("Nothing but a socket is handed to the program: no other file and no variable")
  func inherits() async throws {
    let held = open("/dev/zero", O_RDONLY)
    defer { close(held) }
    let stub = try Stub(
      """
      files = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name))
      with open(os.path.dirname(sys.argv[0]) + "/files", "w") as file: print(files, file=file)
      with open(os.path.dirname(sys.argv[0]) + "/environment", "w") as file:
        file.write(open("/proc/self/environ").read())
      """)
    let decoders = ImageDecoders(slots: 1, program: stub.program, arguments: stub.arguments)
    _ = await decoders.refusal(try Drawn.jpeg(64, 48))
    #expect(try stub.written("files") == "[0, 1, 2]\n")
    #expect(try stub.written("environment") == "")
  }

  @Test("The program cannot open a file or start a process, nor raise these limits or that of its memory")
  func limits() async throws {
    let decoders = ImageDecoders(slots: 1)
    _ = try await decoders.clean(try Drawn.jpeg(64, 48))
    let process = try #require(decoders.idleProcesses.first)
    let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8).split(separator: "\n")
    for name in ["Max processes", "Max open files", "Max address space"] {
      let line = try #require(limits.first { $0.hasPrefix(name) })
      let values = line.dropFirst(name.count).split(separator: " ").prefix(2)
      #expect(values.first == values.last && values.last != "unlimited", "\(line)")
      if name != "Max address space" { #expect(values == ["0", "0"]) }
    }
  }

  @Test("Where no decoder can be started no picture is judged")
  func unavailable() async throws {
    let stub = try Stub("", greeting: "picture0")
    for (program, arguments) in [
      ("/nonexistent/image-decoder", []), ("/bin/false", []), (stub.program, stub.arguments),
    ] {
      let decoders = ImageDecoders(slots: 1, program: program, arguments: arguments)
      guard case .unavailable(let error) = await decoders.failure(try Drawn.jpeg(64, 48)) else {
        Issue.record("\(program) decoded something")
        continue
      }
      #expect(error.description.hasPrefix("\(program) cannot be started"))
      #expect(error.description.contains("Install image-decoder"))
    }
  }
}
