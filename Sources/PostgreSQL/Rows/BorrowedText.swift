/// A text in UTF-8 where the server's answer has it, without a copy; it keeps the answer's piece alive.
public struct BorrowedText: Sendable {
  private let owner: CopiedRows
  // Safe to share: the bytes are `owner`'s, which never moves nor changes them and lives as long as this.
  private nonisolated(unsafe) let start: UnsafeRawPointer

  /// How many bytes there are.
  public let count: Int
  /// Whether it has no character but ASCII's.
  public let isASCII: Bool

  /// Bytes of an answer; nil when they are not UTF-8.
  init?(_ bytes: UnsafeRawBufferPointer, of owner: CopiedRows) {
    guard let start = bytes.baseAddress else { return nil }
    // All bytes whatever they are: such a loop runs many bytes at a time.
    isASCII = bytes.reduce(0 as UInt8, |) < 0x80
    guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { return nil }
    self.owner = owner
    self.start = start
    count = bytes.count
  }

  /// Lends the bytes.
  public func withUTF8<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    // What the pointer points into must outlive the closure, of which the optimiser knows nothing.
    defer { withExtendedLifetime(owner) {} }
    return body(UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count))
  }

  /// A copy.
  public var string: String { withUTF8 { String(decoding: $0, as: UTF8.self) } }
}

extension BorrowedText: Equatable {
  /// Whether both have the same bytes.
  public static func == (one: BorrowedText, other: BorrowedText) -> Bool {
    one.withUTF8 { mine in other.withUTF8 { mine.elementsEqual($0) } }
  }
}
