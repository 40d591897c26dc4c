import TestSupport

@testable import ImageDecoding
@testable import Images

/// A program in the place of `image-decoder`, which does what a sound one never does.
struct Stub {
  let program: String
  private let folder: TemporaryFolder

  /// - Parameter body: Python, after the greeting.
  init(_ body: String, greeting: String = String(decoding: DecodingExchange.greeting, as: UTF8.self)) throws {
    folder = try TemporaryFolder()
    program = try folder.write(
      """
      #!/usr/bin/python3
      import os, sys, time
      def say(words): os.write(1, words)
      say(bytes(\(Array(greeting.utf8))))
      \(body)

      """, to: "stub", mode: 0o700)
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
