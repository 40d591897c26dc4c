import Foundation
import TestSupport

@testable import Queue

/// A picture of noise, which no compression makes small, in a folder of its own as `large.jpg`.
func largePicture(side: Int = 1900) async throws -> TemporaryFolder {
  let folder = try TemporaryFolder()
  let script = """
    import random, sys
    from PIL import Image
    side = int(sys.argv[2])
    pixels = random.Random(7).randbytes(side * side * 3)
    Image.frombytes("RGB", (side, side), pixels).save(sys.argv[1], quality=95)
    """
  _ = try await HelperProgram.output(
    "/usr/bin/python3", ["-c", script, folder.path("large.jpg"), "\(side)"])
  return folder
}

/// The same, as it is stored.
func noisyPicture(side: Int) async throws -> SubmittedImage {
  let folder = try await largePicture(side: side)
  return try SubmittedImage(cleaning: URL(filePath: folder.path("large.jpg")))
}
