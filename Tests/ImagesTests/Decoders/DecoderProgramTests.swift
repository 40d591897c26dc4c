import Foundation
import TestSupport
import Testing

@testable import Images

@Suite("The program image-decoder")
struct DecoderProgramTests {
  private func run(_ arguments: [String], input: [UInt8] = []) async throws -> RunningProgram.Ended {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "image-decoder")
    return try await HelperProgram.run(program.path, arguments, input: input)
  }

  @Test("It answers one picture after the other, and ends when its input does")
  func endOfInput() async throws {
    let file = try Drawn.jpeg(64, 48)
    let limits = ImageLimits()
    let request = DecodingExchange.request(file, limits).bytes
    let answer = DecodingExchange.answer(.success(try ImageCleaner().clean(file))).bytes
    let whole = try await run([], input: request + request)
    #expect(whole.status == 0 && !whole.wasKilled)
    #expect(whole.output == DecodingExchange.greeting + answer + answer)
    // Cut off in the middle of a picture: no answer.
    let cut = try await run([], input: request + request.dropLast())
    #expect(cut.status == 1 && cut.output == DecodingExchange.greeting + answer)
  }

  @Test("Its help is short, and other words are refused")
  func help() async throws {
    let help = try await run(["--help"])
    #expect(help.status == 0)
    #expect(help.output.split(separator: UInt8(ascii: "\n")).count == 3)
    let wrong = try await run(["--cpu-seconds", "many"])
    #expect(wrong.status == 64 && wrong.output.isEmpty && wrong.errors.utf8.elementsEqual(help.output))
  }
}
