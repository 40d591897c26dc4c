import Foundation
import Images
import TestSupport

/// A picture of the run: as it came, and cleaned.
struct Picture: Sendable {
  let path: String
  let original: [UInt8]
  let clean: CleanImage

  /// A dozen, drawn by the project's script: small, for here the queue is to work.
  static func draw(seed: UInt64) async throws -> [Picture] {
    let folder = try await DrawnSamples(["--count", "12", "--seed", "\(seed % 1000)", "--size", "6"]).folder()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    return try names.map { name in
      let file = folder.appending(path: name)
      let original = [UInt8](try Data(contentsOf: file))
      let limits = ImageLimits(maxDimension: 160)
      return Picture(
        path: file.path, original: original, clean: try ImageCleaner(limits: limits).clean(original))
    }
  }
}
