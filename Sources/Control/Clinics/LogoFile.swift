import CommandLineTool
import EventLoop
import Images
import Support

/// A logo as it is stored: a JPEG without metadata, of at most 800 pixels a side and 256 KiB, whatever was given.
enum LogoFile {
  private static let limits = ImageLimits(
    maxOutputBytes: ClinicLogo.mostBytes, maxDimension: 800, keepsPNG: false)

  /// Reads a file, and cleans it in a program of its own, as what is submitted.
  ///
  /// - Throws: `CommandFailure` for a file that cannot be read (66), and for one that is no picture (4).
  static func read(_ path: String) async throws -> CleanImage {
    let limit = limits.maxBytes
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try InputFile.readText(path, limit: limit)
    }
    let bytes = try await reading.value
    do throws(UndecodedImage) {
      return try await ImageDecoders(slots: 1).clean(bytes, limits: limits)
    } catch {
      switch error {
      case .refused(let refusal):
        throw CommandFailure(.refused, "\(FileName.shown(path)) is no logo. \(refusal.message)")
      case .unavailable(let fault): throw fault
      case .cancelled: throw CancellationError()
      }
    }
  }
}
