public import Foundation
import Synchronization

/// A folder of pictures that the project's script draws, once in a test process, for whoever asks first.
public actor DrawnSamples {
  private let arguments: [String]
  private var drawing: Task<URL, any Error>?

  /// Pictures that `scripts/draw-samples` draws with these arguments, the folder's path after them.
  public init(_ arguments: [String]) {
    self.arguments = arguments
  }

  /// The folder; it is removed when the process ends.
  ///
  /// - Throws: `TestSupportError` when the script fails.
  public func folder() async throws -> URL {
    if let drawing { return try await drawing.value }
    let task = Task { try await Self.draw(arguments) }
    drawing = task
    return try await task.value
  }

  private static func draw(_ arguments: [String]) async throws -> URL {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let script = root.appendingPathComponent("scripts/draw-samples").path
    let folder = try TemporaryFolder()
    do {
      _ = try await HelperProgram.output(script, arguments + [folder.url.path])
    } catch {
      throw TestSupportError("The pictures were not drawn; is python3-pil installed? \(error)")
    }
    keepUntilExit(folder)
    return folder.url
  }

  private static let kept = Mutex<[TemporaryFolder]>([])

  private static func keepUntilExit(_ folder: TemporaryFolder) {
    let isFirst = kept.withLock { kept in
      kept.append(folder)
      return kept.count == 1
    }
    if isFirst { atexit { DrawnSamples.kept.withLock { $0 = [] } } }
  }
}
