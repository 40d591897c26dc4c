import Glibc
import HTTPServing
import Synchronization

/// A body that is sent in pieces, or not to its end. Used by the thread that serves its connection only.
final class PartialBody: HTTPBodyReader {
  private let bytes: [UInt8]
  /// Bytes for each piece, and the pause before each but the first; nil sends without pauses.
  private let drip: (piece: Int, pause: Duration)?
  private let connection: HTTPConnection
  private let held: HeldConnections
  private var isDue = true

  init(
    _ bytes: [UInt8], drip: (piece: Int, pause: Duration)?, connection: HTTPConnection, held: HeldConnections
  ) {
    self.bytes = bytes
    self.drip = drip
    self.connection = connection
    self.held = held
  }

  override func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Step {
    guard position < bytes.count else { return .broken }
    var count = min(buffer.count, bytes.count - position)
    if let drip {
      if !isDue {
        isDue = true
        // Zero bytes from a suspended connection: the library asks again when it goes on.
        if held.hold(connection, for: drip.pause) { return .bytes(0) }
      }
      isDue = false
      count = min(count, drip.piece)
    }
    bytes.withUnsafeBytes { source in
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<position + count]))
    }
    return .bytes(count)
  }
}

/// Storage of images that have been answered, kept for the next ones: fresh memory for each upload would
/// cost a page fault for every 4 KiB of it.
final class ImageBuffers: Sendable {
  private let free = Mutex<[[UInt8]]>([])
  private let most = 64
  private let largest = 1 << 20

  func take() -> [UInt8] {
    free.withLock { $0.popLast() } ?? []
  }

  func giveBack(_ buffer: consuming [UInt8]) {
    var buffer = buffer
    guard buffer.capacity > 0, buffer.capacity <= largest else { return }
    buffer.removeAll(keepingCapacity: true)
    let emptied = buffer
    free.withLock { free in
      if free.count < most { free.append(emptied) }
    }
  }
}
