/// A password or key. It shows itself nowhere; what needs the text asks for it with `reveal()`.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The bytes as they were read.
  public let bytes: [UInt8]

  /// Makes a secret of a text.
  public init(_ text: String) {
    bytes = Array(text.utf8)
  }

  /// Makes a secret of bytes, such as a key.
  public init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The secret as text, without the line break that editors put at a file's end.
  public func reveal() -> String {
    var kept = bytes[...]
    if kept.last == UInt8(ascii: "\n") { kept.removeLast() }
    if kept.last == UInt8(ascii: "\r") { kept.removeLast() }
    return String(decoding: kept, as: UTF8.self)
  }

  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
