public import Glibc

/// What a program and its `image-decoder`, which cleans pictures for it, send each other, from and to the same machine.
///
/// The decoder greets. Then come, again and again, a request, which is a row of whole numbers and the file's bytes, and
/// its answer, which is a row of whole numbers and the clean picture or the words of the refusal.
public enum DecodingExchange {
  /// What the decoder says when it is ready. Its number grows when anything below changes, so that two programs of
  /// different versions do not misunderstand each other.
  public static let greeting = Array("picture2\n".utf8)

  /// A row of whole numbers, and the file, the picture or the words that follow it.
  public struct Message: Sendable {
    let header: [UInt8]
    let content: [UInt8]

    /// Bytes, and before them whole numbers.
    public init(_ words: [Int], _ content: [UInt8]) {
      header = words.withUnsafeBytes { [UInt8]($0) }
      self.content = content
    }

    /// All of it.
    public var bytes: [UInt8] { header + content }

    /// How many bytes it has.
    public var count: Int { header.count + content.count }

    /// What is left of it after so many bytes, for a call of the system that takes it without a copy and in one piece:
    /// the reader is woken by each call.
    public func withParts<Result>(after sent: Int, _ body: (UnsafeMutableBufferPointer<iovec>) -> Result)
      -> Result
    {
      header.withUnsafeBytes { header in
        content.withUnsafeBytes { content in
          var parts = [header.dropFirst(sent), content.dropFirst(max(sent - header.count, 0))].map { part in
            let part = UnsafeRawBufferPointer(rebasing: part)
            return iovec(iov_base: UnsafeMutableRawPointer(mutating: part.baseAddress), iov_len: part.count)
          }
          return parts.withUnsafeMutableBufferPointer { body($0) }
        }
      }
    }
  }

  // MARK: - Request

  /// The bytes of a request before the file.
  public static let requestSize = 7 * wordSize

  /// A request to clean a file.
  public static func request(_ file: [UInt8], _ limits: ImageLimits) -> Message {
    Message(
      [
        file.count, limits.maxBytes, limits.maxPixels, limits.maxOutputBytes, limits.maxDimension ?? -1,
        limits.minSide ?? -1, limits.keepsPNG ? 1 : 0,
      ], file)
  }

  /// What the beginning of a request asks for; nil if it is none.
  public static func request(_ header: [UInt8]) -> (byteCount: Int, limits: ImageLimits)? {
    let words = words(header)
    guard words.count == 7, words[0] >= 0 else { return nil }
    return (
      words[0],
      ImageLimits(
        maxBytes: words[1], maxPixels: words[2], maxOutputBytes: words[3],
        maxDimension: words[4] < 0 ? nil : words[4], minSide: words[5] < 0 ? nil : words[5],
        keepsPNG: words[6] != 0)
    )
  }

  // MARK: - Answer

  /// The bytes of an answer before its content.
  static let answerSize = 8 * wordSize

  /// The most bytes of a refusal's words.
  private static let mostWords = 2_000

  /// An answer.
  public static func answer(_ outcome: Result<CleanImage, ImageRefusal>) -> Message {
    switch outcome {
    case .success(let image):
      let changes = image.changes
      let flags = [changes.reencoded, changes.converted, changes.scaled].map { $0 ? 1 : 0 }
      return Message(
        [
          1, image.bytes.count, image.width, image.height, image.source == .jpeg ? 0 : 1, changes.orientation,
          flags[0] | flags[1] << 1 | flags[2] << 2, changes.metadataBytesRemoved,
        ], image.bytes)
    case .failure(let refusal):
      let content = Array(
        [refusal.code.rawValue, refusal.detectedFormat ?? "", refusal.message].joined(separator: "\n").utf8)
      return Message([0, content.count, 0, 0, 0, 0, 0, 0], content)
    }
  }

  /// How many bytes of content follow the beginning of an answer; nil if it is none.
  static func contentSize(_ header: [UInt8], _ limits: ImageLimits) -> Int? {
    let words = words(header)
    guard words.count == 8, words[1] >= 0, words[1] <= (words[0] == 1 ? limits.maxOutputBytes : mostWords)
    else { return nil }
    return words[1]
  }

  /// What an answer says; nil if it is none. Of the picture no more is looked at than that it begins like one.
  public static func outcome(
    _ header: [UInt8], _ content: [UInt8], _ limits: ImageLimits
  ) -> Result<CleanImage, ImageRefusal>? {
    let words = words(header)
    guard words.count == 8 else { return nil }
    guard words[0] == 1 else { return refusal(content).map { .failure($0) } }
    let sides = 1...ImageLimits.longestSide
    let format = content.withUnsafeBytes { ImageFormat($0) }
    guard sides.contains(words[2]), sides.contains(words[3]), words[2] * words[3] <= limits.maxPixels,
      (1...8).contains(words[5]), format == .jpeg || (format == .png && limits.keepsPNG)
    else { return nil }
    return .success(
      CleanImage(
        bytes: content, size: PixelSize(words[2], words[3]), source: words[4] == 0 ? .jpeg : .png,
        changes: CleanImage.Changes(
          orientation: words[5], reencoded: words[6] & 1 != 0, converted: words[6] & 2 != 0,
          scaled: words[6] & 4 != 0, metadataBytesRemoved: words[7])))
  }

  private static func refusal(_ content: [UInt8]) -> ImageRefusal? {
    guard let text = String(validating: content, as: UTF8.self) else { return nil }
    let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
    // Its words are shown: nothing in them may move a terminal's cursor.
    guard parts.count == 3, let code = ImageRefusal.Code(rawValue: String(parts[0])),
      text.unicodeScalars.allSatisfy({ $0 == "\n" || ($0.value >= 0x20 && $0.value < 0x7F) })
    else { return nil }
    return ImageRefusal(
      code, String(parts[2]), detectedFormat: parts[1].isEmpty ? nil : String(parts[1]))
  }

  // MARK: - Numbers

  private static let wordSize = MemoryLayout<Int>.size

  private static func words(_ bytes: [UInt8]) -> [Int] {
    bytes.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count - wordSize + 1, by: wordSize).map {
        bytes.loadUnaligned(fromByteOffset: $0, as: Int.self)
      }
    }
  }
}
