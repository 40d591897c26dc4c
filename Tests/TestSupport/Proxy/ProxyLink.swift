import Foundation
import Glibc
import Synchronization

/// One connection through a `FaultProxy`: a thread for each direction.
final class ProxyLink: Sendable {
  private struct State {
    /// Answers of one byte that the server owes: to requests for encryption.
    var owedBytes = 0
    var requests = 0
    var ready = 0
    /// After so many answers the rest is kept from the client, and the connection is cut at the next.
    var withheldAfter: Int?
    var isCut = false
  }

  private let client: Int32
  private let server: Int32
  private let proxy: FaultProxy
  private let state = Mutex(State())

  init(client: Int32, server: Int32, proxy: FaultProxy) {
    self.client = client
    self.server = server
    self.proxy = proxy
    var one: Int32 = 1
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    setsockopt(server, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Passes messages until either side ends; blocks.
  func run() {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      passAnswers()
      cut()
      done.signal()
    }
    passRequests()
    cut()
    done.wait()
    close(client)
    close(server)
  }

  /// Ends the connection on both sides.
  func cut() {
    state.withLock { state in
      guard !state.isCut else { return }
      state.isCut = true
      _ = shutdown(client, Int32(SHUT_RDWR))
      _ = shutdown(server, Int32(SHUT_RDWR))
    }
  }

  // MARK: To the server

  private func passRequests() {
    var messages = WireMessages()
    var isBegun = false
    while receive(from: client, into: &messages) {
      while let message = isBegun ? messages.next() : messages.first() {
        if !isBegun {
          isBegun = !message.asksForEncryption
          if message.asksForEncryption { state.withLock { $0.owedBytes += 1 } }
        } else if let statement = message.statement, let cut = proxy.verdict(on: statement) {
          guard strike(cut) else { return }
        }
        if isBegun, message.endsRequest { state.withLock { $0.requests += 1 } }
        guard send(message.bytes, to: server) else { return }
      }
    }
  }

  /// Answers whether the statement is to be passed on.
  private func strike(_ cut: FaultProxy.Cut) -> Bool {
    switch cut {
    case .beforeServer:
      proxy.noteStrike()
      return false
    case .afterAnswer:
      state.withLock { $0.withheldAfter = $0.requests }
      return true
    }
  }

  // MARK: To the client

  private func passAnswers() {
    var messages = WireMessages()
    while receive(from: server, into: &messages) {
      while let message = nextAnswer(&messages) {
        let (isWithheld, isEnd) = state.withLock { state in
          let isWithheld = state.withheldAfter.map { state.ready >= $0 } ?? false
          if message.isReady { state.ready += 1 }
          return (isWithheld, isWithheld && message.isReady)
        }
        if isEnd {
          proxy.noteStrike()
          return
        }
        guard isWithheld || send(message.bytes, to: client) else { return }
      }
    }
  }

  private func nextAnswer(_ messages: inout WireMessages) -> WireMessages.Message? {
    guard state.withLock({ $0.owedBytes > 0 }) else { return messages.next() }
    let byte = messages.byte()
    if byte != nil { state.withLock { $0.owedBytes -= 1 } }
    return byte
  }

  // MARK: Bytes

  private func receive(from descriptor: Int32, into messages: inout WireMessages) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    proxy.ice.waitUntilThawed()
    guard count > 0 else { return false }
    messages.append(buffer[..<count])
    return true
  }

  private func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}

/// What holds the bytes of a frozen proxy.
final class ProxyIce: Sendable {
  private let isFrozen = Mutex(false)
  private let change = NSCondition()

  func set(_ frozen: Bool) {
    change.lock()
    isFrozen.withLock { $0 = frozen }
    change.broadcast()
    change.unlock()
  }

  /// Blocks, on a thread of the proxy's own.
  func waitUntilThawed() {
    change.lock()
    while isFrozen.withLock({ $0 }) { change.wait() }
    change.unlock()
  }
}
