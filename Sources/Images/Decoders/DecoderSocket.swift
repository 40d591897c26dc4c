internal import Glibc

/// This program's end of the socket to a decoder. What it does blocks, until a time.
struct DecoderSocket {
  enum Fault: Error {
    /// The other end is closed.
    case closed
    /// The time is over.
    case late
    /// What came is no message.
    case nonsense
  }

  let descriptor: Int32
  let end: SuspendingClock.Instant

  func send(_ message: DecodingExchange.Message) throws(Fault) {
    var sent = 0
    while sent < message.count {
      let count = message.withParts(after: sent) { parts in
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = parts.count
        return sendmsg(descriptor, &message, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
      }
      if count > 0 { sent += count } else { try wait(for: POLLOUT) }
    }
  }

  func receive(_ count: Int) throws(Fault) -> [UInt8] {
    var fault: Fault?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Fault) {
        while filled < count {
          let came = recv(
            descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, Int32(MSG_DONTWAIT)
          )
          guard came != 0 else { throw .closed }
          if came > 0 { filled += came } else { try wait(for: POLLIN) }
        }
      } catch {
        fault = error
      }
    }
    if let fault { throw fault }
    return bytes
  }

  /// Waits until the call that has just failed may succeed; throws when it never will.
  private func wait(for event: Int32) throws(Fault) {
    guard errno == EAGAIN || errno == EINTR else { throw .closed }
    let left = end - .now
    guard left > .zero else { throw .late }
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    _ = poll(&entry, 1, Int32(clamping: Int(left / .milliseconds(1)) + 1))
  }
}
