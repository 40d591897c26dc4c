import Foundation
import TestSupport
import Testing

@testable import Images

/// The pictures that `scripts/draw-samples --fixtures` draws: those in the folder that the environment
/// names, else drawn once for this run and removed at its end.
enum Fixtures {
  static func bytes(_ name: String) async throws -> [UInt8] {
    [UInt8](try Data(contentsOf: await folder().appending(path: name)))
  }

  /// What the picture must look like after cleaning.
  static func expected(_ name: String) async throws -> Picture {
    let stem = name.prefix { $0 != "." }
    return try await Picture(ppm: bytes("\(stem).ppm"))
  }

  /// Words that the fixtures' metadata holds.
  static func metadataWords() async throws -> [String] {
    let text = String(decoding: try await bytes("metadata-words.txt"), as: UTF8.self)
    return text.split(separator: "\n").map(String.init)
  }

  /// Every fixture that must be accepted.
  static let accepted: [String] =
    ["444", "422", "420", "odd", "progressive", "grey"].flatMap { kind in
      (1...8).map { "turn-\(kind)-\($0).jpg" }
    } + (1...8).map { "turn-png-\($0).png" }
    + ["cmyk", "ycck", "rgb-adobe", "grey", "progressive", "metadata", "photo", "wide", "restarts"].map {
      $0 + ".jpg"
    }
    + pngKinds + colours + ["metadata.png", "photo-lossless.png", "wide-lossless.png"]

  static let pngKinds = [
    "rgb", "rgba", "grey", "grey-alpha", "palette", "palette-transparent", "one-bit", "rgb-16", "grey-16",
    "interlaced",
  ].map { "kind-\($0).png" }

  /// The same scene in many colour spaces.
  static let colours =
    ["none", "srgb", "p3", "adobe", "prophoto", "long", "grey", "inks"].map { "colour-\($0)-jpeg.jpg" }
    + [
      "srgb", "p3", "adobe", "prophoto", "clear", "grey", "described", "cicp-p3", "cicp-2020", "cicp-709",
      "cicp-601", "cicp-srgb",
      "cicp-first",
      "iccp-second", "srgb-third",
    ].map { "colour-\($0)-png.png" }

  private static let drawn = DrawnSamples(["--fixtures"])

  private static func folder() async throws -> URL {
    if let given = ProcessInfo.processInfo.environment["ANALYSIS_FIXTURES"] {
      return URL(filePath: given, directoryHint: .isDirectory)
    }
    return try await drawn.folder()
  }
}
