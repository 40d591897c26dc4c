import Foundation
import TestSupport
import Testing

@testable import Images

@Suite("Pictures are decoded in programs of their own")
struct ImageDecodersTests {
  static let sound: [(Int, Int, UInt8?, ImageLimits)] = [
    (64, 48, nil, ImageLimits()), (64, 48, 6, ImageLimits()), (61, 47, 6, ImageLimits()),
    (400, 300, 3, ImageLimits(maxDimension: 100)), (400, 300, nil, ImageLimits(minSide: 224)),
    (3000, 2000, nil, ImageLimits(maxOutputBytes: 80_000)),
  ]

  @Test("A sound one comes back as from the cleaner itself, with all that is known of it", arguments: sound)
  func same(width: Int, height: Int, orientation: UInt8?, limits: ImageLimits) async throws {
    let file = try Drawn.jpeg(width, height, orientation: orientation)
    let clean = try await ImageDecoders().clean(file, limits: limits)
    #expect(clean == (try ImageCleaner(limits: limits).clean(file)))
  }

  @Test("A PNG stays one where the limits say so")
  func png() async throws {
    let file = TinyPicture.png()
    let decoders = ImageDecoders(slots: 1)
    for keeps in [true, false] {
      let limits = ImageLimits(keepsPNG: keeps)
      let clean = try await decoders.clean(file, limits: limits)
      #expect(clean == (try ImageCleaner(limits: limits).clean(file)))
      #expect((clean.bytes == file) == keeps)
    }
  }

  @Test("A refusal comes back with its code and words")
  func refusals() async throws {
    let file = try Drawn.jpeg(64, 48)
    let decoders = ImageDecoders(slots: 1)
    for (bytes, limits) in [
      ([], ImageLimits()), (Array("no picture".utf8), ImageLimits()), (Array("GIF89a".utf8), ImageLimits()),
      (file.dropLast(20), ImageLimits()), (file, ImageLimits(maxBytes: 100)),
      (file, ImageLimits(maxPixels: 100)), (file, ImageLimits(maxOutputBytes: 10)),
    ] {
      let expected = #expect(throws: ImageRefusal.self) { try ImageCleaner(limits: limits).clean(bytes) }
      let refused = await #expect(throws: UndecodedImage.self) {
        try await decoders.clean(bytes, limits: limits)
      }
      #expect(refused == expected.map { .refused($0) })
    }
    // All by one program, which outlives a refusal.
    #expect(decoders.idleProcesses.count == 1)
  }

  @Test("Eight at once share two programs, and the programs are kept")
  func slots() async throws {
    let decoders = ImageDecoders(slots: 2)
    let files = try (0..<8).map { try Drawn.jpeg(200 + $0, 100) }
    let widths = try await withThrowingTaskGroup(of: Int.self) { group in
      for file in files { group.addTask { try await decoders.clean(file).width } }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(widths == Set(200..<208))
    let kept = Set(decoders.idleProcesses)
    #expect((1...2).contains(kept.count))
    for file in files { _ = try await decoders.clean(file) }
    #expect(Set(decoders.idleProcesses) == kept)
  }

  @Test("A program that was killed while it had nothing to do costs no picture")
  func idleKilled() async throws {
    let decoders = ImageDecoders(slots: 1)
    let file = try Drawn.jpeg(64, 48)
    _ = try await decoders.clean(file)
    let process = try #require(decoders.idleProcesses.first)
    kill(process, SIGKILL)
    try await eventually { Self.hasEnded(process) }
    _ = try await decoders.clean(file)
    #expect(decoders.idleProcesses != [process])
  }

  @Test(
    "Ctrl-C and a stop of the service, which reach all processes, end no program",
    arguments: [SIGINT, SIGTERM, SIGHUP])
  func stopped(signal: Int32) async throws {
    let decoders = ImageDecoders(slots: 1)
    let file = try Drawn.jpeg(64, 48)
    _ = try await decoders.clean(file)
    let process = try #require(decoders.idleProcesses.first)
    kill(process, signal)
    _ = try await decoders.clean(file)
    #expect(decoders.idleProcesses == [process])
  }

  @Test("A program ends with those who use it")
  func ends() async throws {
    var decoders: ImageDecoders? = ImageDecoders(slots: 1)
    _ = try await decoders?.clean(try Drawn.jpeg(64, 48))
    let process = try #require(decoders?.idleProcesses.first)
    decoders = nil
    try await eventually { Self.hasEnded(process) }
  }

  /// Whether there is no such process any more, or nothing left of it but its number.
  static func hasEnded(_ process: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else {
      return true
    }
    return status.contains("State:\tZ")
  }
}
