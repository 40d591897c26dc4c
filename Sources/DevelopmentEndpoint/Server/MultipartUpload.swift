import Clinux

/// One multipart upload, parsed as its bytes come in. It takes what the real server's parser takes: `Boundary=` in any
/// case, parameters after the boundary, text before the first part and after the last.
final class MultipartUpload {
  /// Uploads whose image has this many bytes or more are refused.
  static let imageLimit = 5_242_880
  /// Bytes that a part's headers may have.
  private static let headerLimit = 16_384

  /// What a part holds.
  private enum Part {
    case image, kind, other
  }

  private enum State {
    /// Before the first part, whose text nobody reads, or within a part.
    case content(Part)
    /// Behind a delimiter, which headers or the end follow.
    case delimited
    case headers
    case ended
    case broken
  }

  /// The value of the text part `type`, if it came.
  private(set) var kind: [UInt8]?
  /// The bytes of the file part `image`; empty once they are over the limit.
  private(set) var image: [UInt8]
  /// Bytes of the image part that came, stored or not.
  private(set) var imageCount = 0
  /// How many file parts `image` came.
  private(set) var images = 0
  /// Whether a file came under another name.
  private(set) var hasUnknownFile = false
  private let delimiter: [UInt8]
  private var state = State.content(.other)
  /// What came and is not used yet. A delimiter begins with a line's end, which the first one need not have.
  private var pending: [UInt8] = Array("\r\n".utf8)

  /// Starts to parse; nil when a content type is of no multipart form.
  ///
  /// - Parameter buffer: an empty array whose storage takes the image.
  init?(contentType: String, buffer: [UInt8]) {
    let field = HeaderField(contentType)
    guard field.value == "multipart/form-data", let boundary = field.parameters["boundary"], !boundary.isEmpty
    else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    image = buffer
  }

  /// Takes the next bytes of the body.
  func receive(_ bytes: UnsafeRawBufferPointer) {
    guard !pending.isEmpty else {
      pending.append(contentsOf: bytes[takeAll(bytes)...])
      return
    }
    // Out of the property for as long as it is read, so that nothing is copied.
    var waiting: [UInt8] = []
    swap(&waiting, &pending)
    waiting.append(contentsOf: bytes)
    waiting.removeFirst(waiting.withUnsafeBytes(takeAll))
    swap(&waiting, &pending)
  }

  /// Takes what it can of the bytes, and answers how many those are.
  private func takeAll(_ bytes: UnsafeRawBufferPointer) -> Int {
    var position = 0
    while true {
      let (count, goesOn) = take(UnsafeRawBufferPointer(rebasing: bytes[position...]))
      position += count
      if !goesOn { return position }
    }
  }

  /// Takes what it can of the bytes.
  ///
  /// - Returns: How many were taken, and whether more may be taken of the rest.
  private func take(_ bytes: UnsafeRawBufferPointer) -> (Int, Bool) {
    switch state {
    case .content(let part):
      if let end = Self.find(delimiter, in: bytes) {
        receive(UnsafeRawBufferPointer(rebasing: bytes[..<end]), of: part)
        state = .delimited
        return (end + delimiter.count, true)
      }
      // A delimiter may have begun at the end.
      let longest = min(delimiter.count - 1, bytes.count)
      let begun = (0...longest).last { bytes.suffix($0).elementsEqual(delimiter.prefix($0)) } ?? 0
      let count = bytes.count - begun
      receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]), of: part)
      return (count, false)
    case .delimited:
      let blanks = bytes.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.count
      guard bytes.count >= blanks + 2 else { return (0, false) }
      switch (bytes[blanks], bytes[blanks + 1]) {
      case (UInt8(ascii: "-"), UInt8(ascii: "-")): state = .ended
      case (UInt8(ascii: "\r"), UInt8(ascii: "\n")): state = .headers
      default: state = .broken
      }
      // A headers' end is an empty line, also where there are no headers.
      return (blanks, true)
    case .headers:
      guard let end = Self.find(Array("\r\n\r\n".utf8), in: bytes) else {
        if bytes.count > Self.headerLimit { state = .broken }
        return (0, false)
      }
      begin(String(decoding: bytes[..<end], as: UTF8.self))
      return (end + 4, true)
    case .ended, .broken: return (bytes.count, false)
    }
  }

  /// Begins the part with these headers.
  private func begin(_ headers: String) {
    var part = Part.other
    for line in headers.split(separator: "\r\n") {
      let halves = line.split(separator: ":", maxSplits: 1)
      guard halves.count == 2, halves[0].lowercased() == "content-disposition" else { continue }
      let field = HeaderField(halves[1])
      let isFile = field.parameters["filename"] != nil || field.parameters["filename*"] != nil
      switch (field.parameters["name"], isFile) {
      case ("image", true):
        part = .image
        images += 1
      case ("type", false): part = .kind
      case (_, true): hasUnknownFile = true
      case (_, false): break
      }
    }
    state = .content(part)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, of part: Part) {
    switch part {
    case .image:
      imageCount += bytes.count
      if imageCount < Self.imageLimit {
        image.append(contentsOf: bytes)
      } else {
        image.removeAll()
      }
    case .kind:
      let known = kind ?? []
      if known.count + bytes.count <= 64 { kind = known + bytes }
    case .other: break
    }
  }

  /// Where bytes begin within others.
  private static func find(_ wanted: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let found = memmem(start, bytes.count, wanted, wanted.count) else {
      return nil
    }
    return UnsafeRawPointer(found) - start
  }

  /// Whether the body was a whole multipart form.
  var isWhole: Bool {
    if case .ended = state { true } else { false }
  }

  /// Gives the image's storage away, to be used again.
  func takeBuffer() -> [UInt8] {
    var buffer: [UInt8] = []
    swap(&buffer, &image)
    return buffer
  }
}
