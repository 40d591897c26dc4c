internal import Ccurl

/// One request in flight: what libcurl reads of it, and what has come back.
final class Transfer {
  typealias Ending = Result<Response, TransferError>

  /// Why a callback of ours told libcurl to stop.
  enum Refusal {
    case answerTooLarge, headersTooLarge, answerEncoded, answeredEarly, unaskedBytes, repeatedSending,
      otherAddress
  }

  let number: UInt64
  let host: String
  let mayBeRepeated: Bool
  private let pin: AddressPin?
  var continuation: CheckedContinuation<Ending, Never>?
  private(set) var refusal: Refusal?
  /// Whether libcurl has begun to send the request at least once.
  private(set) var startedSending = false
  /// This side's port of the connection, by which `MultiHandle` knows it.
  private(set) var localPort = 0

  let bodyCount: Int
  private let segments: [any BodyBytes]
  private let ends: [Int]
  private var position = 0

  private(set) var head = HeadParser()
  private(set) var received: [UInt8] = []
  private let answerLimit: Int
  private let headerLimit: Int

  init(
    number: UInt64, host: String, mayBeRepeated: Bool, pin: AddressPin?, segments: [any BodyBytes],
    configuration: Configuration
  ) {
    self.number = number
    self.host = host
    self.mayBeRepeated = mayBeRepeated
    self.pin = pin
    self.segments = segments
    var end = 0
    ends = segments.map { segment in
      end += segment.count
      return end
    }
    bodyCount = end
    answerLimit = configuration.answerLimit
    headerLimit = configuration.headerLimit
  }

  /// Whether libcurl has taken all of the body.
  var bodyIsRead: Bool { position >= bodyCount }

  // MARK: What libcurl asks for

  /// Called before each sending of the request, of which there are two when a kept-alive connection was
  /// dead: the server may have acted on the first, so only a harmless request goes out again.
  ///
  /// - Parameters:
  ///   - peer: The address that the connection leads to, in figures.
  ///   - localPort: This side's port of the connection.
  ///   - hasBytes: Whether the connection has bytes before anything was asked: an answer that belongs to nobody, which
  ///     would be taken for this request's.
  func mayStartSending(to peer: String, localPort: Int, hasBytes: Bool) -> Bool {
    self.localPort = localPort
    if hasBytes {
      refusal = .unaskedBytes
      return false
    }
    if let pin, !pin.permits(peer) {
      refusal = .otherAddress
      return false
    }
    if startedSending, !mayBeRepeated {
      refusal = .repeatedSending
      return false
    }
    startedSending = true
    return true
  }

  /// Whether it was stopped by bytes that were on its connection, and goes on by another one.
  func mayChangeConnection() -> Bool {
    guard refusal == .unaskedBytes else { return false }
    refusal = nil
    return true
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < buffer.count, position < bodyCount {
      guard let index = ends.firstIndex(where: { $0 > position }) else { break }
      let start = index == 0 ? 0 : ends[index - 1]
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let copied = segments[index].withUnsafeBytes { bytes in
        let piece = bytes.dropFirst(position - start).prefix(room.count)
        room.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece))
        return piece.count
      }
      guard copied > 0 else { return Int(CURL_READFUNC_ABORT) }  // the bytes' owner gave fewer than it said
      position += copied
      filled += copied
    }
    return filled
  }

  /// Goes back when libcurl sends the body again. Anything but a position within the body is refused.
  func seek(to offset: Int, origin: Int32) -> Bool {
    guard origin == 0, (0...bodyCount).contains(offset) else { return false }
    position = offset
    return true
  }

  // MARK: What libcurl brings

  /// Takes a piece of the body; anything but its length ends the transfer.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
    if head.isEncoded {
      refusal = .answerEncoded
      return 0
    }
    guard received.count + bytes.count <= answerLimit else {
      refusal = .answerTooLarge
      return 0
    }
    received.append(contentsOf: bytes)
    return bytes.count
  }

  /// Takes one header line; anything but its length ends the transfer.
  ///
  /// - Parameter isConfirmed: Whether all that was sent on the connection has come to the other side. Asked once, of an
  ///   answer by HTTP/1.1; on HTTP/2 this side also sends for other requests.
  func receiveHeader(_ line: UnsafeRawBufferPointer, isConfirmed: () -> Bool) -> Int {
    guard head.byteCount + line.count <= headerLimit else {
      refusal = .headersTooLarge
      return 0
    }
    let wasComplete = head.isComplete
    head.take(line)
    // Only a refusal may come before the request is there: what was found in a picture cannot be known yet.
    if let result = head.result, (200...299).contains(result.status),
      !bodyIsRead || !wasComplete && result.version == .http1 && !isConfirmed()
    {
      refusal = .answeredEarly
      return 0
    }
    return line.count
  }

  /// Ends the call; the second time does nothing.
  func end(_ ending: Ending) {
    continuation?.resume(returning: ending)
    continuation = nil
  }
}
