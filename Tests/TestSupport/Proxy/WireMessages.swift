/// Cuts one direction of PostgreSQL's protocol into its messages.
struct WireMessages {
  /// A message, or the bytes before there are any.
  struct Message {
    /// The message's letter; nil of what has none: a client's first message, a server's answer to a request
    /// for encryption.
    let kind: UInt8?
    /// All of it, as it came.
    let bytes: ArraySlice<UInt8>
    /// What follows kind and length.
    var body: ArraySlice<UInt8> { bytes.dropFirst(kind == nil ? 4 : 5) }
  }

  private var buffer: [UInt8] = []
  private var start = 0

  mutating func append(_ bytes: ArraySlice<UInt8>) {
    buffer.removeSubrange(..<start)
    start = 0
    buffer += bytes
  }

  /// The next one byte; nil when it has not come.
  mutating func byte() -> Message? { take(1, kind: nil) }

  /// The next message without a letter; nil when it has not come whole.
  mutating func first() -> Message? {
    length(at: start).flatMap { take($0, kind: nil) }
  }

  /// The next message; nil when it has not come whole.
  mutating func next() -> Message? {
    guard start < buffer.count else { return nil }
    let kind = buffer[start]
    return length(at: start + 1).flatMap { take($0 + 1, kind: kind) }
  }

  private func length(at place: Int) -> Int? {
    guard place + 4 <= buffer.count else { return nil }
    return buffer[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private mutating func take(_ count: Int, kind: UInt8?) -> Message? {
    guard start + count <= buffer.count else { return nil }
    defer { start += count }
    return Message(kind: kind, bytes: buffer[start..<start + count])
  }
}

extension WireMessages.Message {
  private static let encryptionRequests: Set<Int> = [80_877_103, 80_877_104]

  /// Whether a client's first message asks for encryption and is followed by another first message.
  var asksForEncryption: Bool {
    Self.encryptionRequests.contains(body.prefix(4).reduce(0) { $0 << 8 | Int($1) })
  }

  /// The SQL that a client's message brings: of a simple query, or one to be parsed.
  var statement: String? {
    switch kind {
    case UInt8(ascii: "Q"): String(decoding: body.prefix { $0 != 0 }, as: UTF8.self)
    case UInt8(ascii: "P"):
      // After the name.
      String(decoding: body.drop { $0 != 0 }.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    default: nil
    }
  }

  /// Whether a client's message is answered by a "ready for query".
  var endsRequest: Bool { kind == UInt8(ascii: "Q") || kind == UInt8(ascii: "S") }

  /// Whether a server's message is that answer.
  var isReady: Bool { kind == UInt8(ascii: "Z") }
}
