import Synchronization

/// The chunks of a stream, in order.
final class Collected: Sendable {
  private let held = Mutex<[[UInt8]]>([])

  func add(_ chunk: [UInt8]) {
    held.withLock { $0.append(chunk) }
  }

  var chunks: [[UInt8]] { held.withLock { $0 } }

  var bytes: [UInt8] { chunks.flatMap(\.self) }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  var count: Int { chunks.count }
}
