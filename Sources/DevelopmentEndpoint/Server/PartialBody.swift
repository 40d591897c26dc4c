import Cmicrohttpd
import Glibc
import Synchronization

/// A body that is sent in pieces, or not to its end. Used by the thread that serves its connection only.
final class PartialBody {
  private let bytes: [UInt8]
  /// Bytes for each piece, and the pause before each but the first; nil sends without pauses.
  private let drip: (piece: Int, pause: Duration)?
  private let connection: OpaquePointer
  private let held: HeldConnections
  private var isDue = true

  init(
    _ bytes: [UInt8], drip: (piece: Int, pause: Duration)?, connection: OpaquePointer, held: HeldConnections
  ) {
    self.bytes = bytes
    self.drip = drip
    self.connection = connection
    self.held = held
  }

  /// A response that announces `length` bytes and reads them from here; nil when memory is short.
  func response(length: Int) -> OpaquePointer? {
    MHD_create_response_from_callback(
      UInt64(length), 4096, partialBodyRead, Unmanaged.passRetained(self).toOpaque(), partialBodyFree)
  }

  fileprivate func read(at position: Int, into buffer: UnsafeMutablePointer<CChar>, _ room: Int) -> Int {
    guard position < bytes.count else { return mhd_reader_failed }
    var count = min(room, bytes.count - position)
    if let drip {
      if !isDue {
        isDue = true
        // Zero bytes from a suspended connection: the library asks again when it goes on.
        if held.hold(connection, for: drip.pause) { return 0 }
      }
      isDue = false
      count = min(count, drip.piece)
    }
    bytes.withUnsafeBytes { source in
      UnsafeMutableRawBufferPointer(start: buffer, count: count)
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<position + count]))
    }
    return count
  }
}

private func partialBodyRead(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ room: Int
) -> Int {
  guard let context, let buffer else { return mhd_reader_failed }
  return Unmanaged<PartialBody>.fromOpaque(context).takeUnretainedValue()
    .read(at: Int(position), into: buffer, room)
}

private func partialBodyFree(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<PartialBody>.fromOpaque(context).release() }
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
