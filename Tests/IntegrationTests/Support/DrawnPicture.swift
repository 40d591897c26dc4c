import Foundation
import TestSupport

@testable import Images
@testable import Queue

/// The sample pictures, six good ones and the bad ones.
let drawnPictures = DrawnSamples(["--count", "6", "--seed", "3", "--bad"])

/// A picture as a doctor's app would send it, drawn by the project's script.
func drawnPicture(_ name: String = "throat-01.jpg") async throws -> SubmittedImage {
  try SubmittedImage(cleaning: try await drawnPictures.folder().appending(path: name))
}

extension SubmittedImage {
  /// The picture in a file, as `analysisctl submit` submits it.
  init(cleaning file: URL) throws {
    let image = try ImageCleaner().clean([UInt8](Data(contentsOf: file)))
    self = .bytes(image.bytes, sha256: image.sha256, width: image.width, height: image.height)
  }

  /// The bytes; none of one that is known already.
  var bytes: [UInt8] {
    if case .bytes(let bytes, _, _, _, _, _) = self { bytes } else { [] }
  }
}
