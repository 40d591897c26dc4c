import TestSupport

@testable import Images

/// A program in the place of `image-decoder`, which does what a sound one never does.
struct Stub {
  /// The interpreter: a file just written cannot be run while a program that another test starts still has it open.
  let program = "/usr/bin/python3"
  let arguments: [String]
  private let folder: TemporaryFolder

  /// - Parameter body: Python, after the greeting.
  init(_ body: String, greeting: String = String(decoding: DecodingExchange.greeting, as: UTF8.self)) throws {
    folder = try TemporaryFolder()
    let script = try folder.write(
      """
      import os, sys, time
      def say(words): os.write(1, words)
      say(bytes(\(Array(greeting.utf8))))
      \(body)

      """, to: "stub")
    arguments = [script]
  }

  /// What it has written into a file beside it.
  func written(_ name: String) throws -> String {
    String(decoding: try folder.bytes(name), as: UTF8.self)
  }
}

extension ImageDecoders {
  /// What becomes of a picture that is not cleaned; nil for one that is.
  func failure(_ bytes: [UInt8]) async -> UndecodedImage? {
    do throws(UndecodedImage) {
      _ = try await clean(bytes)
      return nil
    } catch {
      return error
    }
  }

  /// Why a picture is refused; nil for one that is not.
  func refusal(_ bytes: [UInt8]) async -> ImageRefusal? {
    if case .refused(let refusal) = await failure(bytes) { refusal } else { nil }
  }
}
