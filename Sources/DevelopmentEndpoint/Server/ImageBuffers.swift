import Synchronization

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
