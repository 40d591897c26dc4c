import Administration
import CommandLineTool
import EventLoop
import Formatting
import Foundation
import System

/// Erases a person, with their photo on this machine and the receipt.
struct PersonErasure: Sendable {
  let session: ControlSession
  let photos: PhotoRemover

  /// Whom to erase, and how.
  struct Request: Sendable {
    let person: PersonEraser.Person
    let isCancelling: Bool
    let isDry: Bool
    /// Where the receipt goes too.
    let receipt: String?
  }

  func run(_ request: Request) async throws -> EraseResponse {
    // What cannot be written is found before anything is gone.
    if let receipt = request.receipt, !request.isDry { try await Self.write(receipt, nil) }
    let eraser = PersonEraser(session.database)
    let erasure = try await eraser.erase(
      request.person, cancelling: request.isCancelling, dry: request.isDry, as: session.actor)
    let isDone = erasure.open == 0 && !request.isDry
    // From here on nothing may keep the receipt from being written.
    var cachedPhoto: CachedPhoto?
    if erasure.open == 0, let photo = erasure.photo {
      cachedPhoto = await photos.remove(photo, isDry: request.isDry)
    }
    let response = EraseResponse(
      person: request.person, isDry: request.isDry, erasure: erasure, cachedPhoto: cachedPhoto,
      at: Date().timeIntervalSince1970,
      entry: isDone ? try? await eraser.entry(of: erasure) : nil)
    if isDone, let receipt = request.receipt {
      try await Self.write(receipt, response.json.json + "\n")
    }
    return response
  }

  /// Writes a file, or only tries whether one could be.
  private static func write(_ path: String, _ text: String?) async throws {
    let outcome = await HelperThread.value {
      Result { () throws(SystemError) in
        var file = try AtomicFile(path)
        guard let text else { return }
        try file.write(text)
        _ = try file.commit()
      }
    }
    guard let outcome else { throw CommandFailure(.tryLater, "the system has no thread left") }
    try outcome.get()
  }
}
