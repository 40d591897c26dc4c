internal import Clinux

/// What an upload is made of: one file, and a short text beside it.
public struct UploadForm: Sendable, Equatable {
  /// The name of the file's part.
  public var file: String
  /// The name of the text's part.
  public var field: String
  /// Bytes that the file may have; of a larger one none are kept.
  public var fileLimit: Int

  /// A form with its parts.
  public init(file: String, field: String, fileLimit: Int) {
    (self.file, self.field, self.fileLimit) = (file, field, fileLimit)
  }
}

/// One multipart upload, parsed as its bytes come in. It takes what the real server's parser takes: `Boundary=` in any
/// case, parameters after the boundary, text before the first part and after the last. (libmicrohttpd's own parser,
/// as of 0.9.75, takes neither of the first two, and finds fault with text after the last part.)
public final class MultipartUpload {
  /// Bytes that a part's headers may have.
  private static let headerLimit = 16_384
  /// Bytes of the text that are kept: more than any text has that is taken, so that a longer one is none of them.
  private static let fieldLimit = 64
  /// What RFC 2046 allows. Each byte of the body may cost as much as the boundary is long.
  private static let boundaryBytes = 1...70

  /// What a part holds.
  private enum Part {
    case file, field, other
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

  /// The text, if it came; of one that came twice, both.
  public private(set) var field: [UInt8]?
  /// The bytes of the file; empty once they are over the limit.
  public private(set) var file: [UInt8]
  /// Bytes of the file that came, kept or not.
  public private(set) var fileCount = 0
  /// How many parts of the file's name came.
  public private(set) var files = 0
  /// Whether a file came under another name.
  public private(set) var hasUnknownFile = false
  private let form: UploadForm
  private let delimiter: [UInt8]
  private var state = State.content(.other)
  /// What came and is not used yet. A delimiter begins with a line's end, which the first one need not have.
  private var pending: [UInt8] = Array("\r\n".utf8)

  /// Starts to parse; nil when a content type is of no multipart form.
  ///
  /// - Parameter buffer: an empty array whose storage takes the file.
  public init?(_ form: UploadForm, contentType: String, buffer: [UInt8] = []) {
    let field = HeaderField(contentType)
    guard field.value == "multipart/form-data", let boundary = field.parameters["boundary"],
      Self.boundaryBytes.contains(boundary.utf8.count)
    else { return nil }
    delimiter = Array("\r\n--\(boundary)".utf8)
    file = buffer
    self.form = form
  }

  /// Takes the next bytes of the body.
  public func receive(_ bytes: UnsafeRawBufferPointer) {
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
      case (form.file, true):
        part = .file
        files += 1
      case (form.field, false): part = .field
      case (_, true): hasUnknownFile = true
      case (_, false): break
      }
    }
    state = .content(part)
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, of part: Part) {
    switch part {
    case .file:
      fileCount += bytes.count
      if fileCount <= form.fileLimit {
        file.append(contentsOf: bytes)
      } else {
        file.removeAll()
      }
    case .field:
      let known = field ?? []
      field = known + bytes.prefix(Self.fieldLimit - known.count)
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
  public var isWhole: Bool {
    if case .ended = state { true } else { false }
  }

  /// Bytes of memory that it takes.
  var heldBytes: Int { file.capacity + pending.capacity }

  /// Gives the file's storage away.
  public func takeFile() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &file)
    return taken
  }
}

/// A header's value with its parameters: `form-data; name="image"; filename="a.jpg"`.
struct HeaderField {
  /// What stands before the parameters, in small letters.
  let value: String
  /// By their names in small letters.
  let parameters: [String: String]

  init(_ text: some StringProtocol) {
    var parts: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in text {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
        continue
      } else if character == "\"" {
        isQuoted.toggle()
        continue
      } else if character == ";", !isQuoted {
        parts.append("")
        continue
      }
      parts[parts.count - 1].append(character)
    }
    value = Self.trimmed(parts[0]).lowercased()
    var parameters: [String: String] = [:]
    for part in parts.dropFirst() {
      guard let equals = part.firstIndex(of: "=") else { continue }
      parameters[Self.trimmed(part[..<equals]).lowercased()] = Self.trimmed(
        part[part.index(after: equals)...])
    }
    self.parameters = parameters
  }

  static func trimmed(_ text: some StringProtocol) -> String {
    let start = text.drop { $0 == " " || $0 == "\t" }
    guard let end = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return String(start[...end])
  }
}
