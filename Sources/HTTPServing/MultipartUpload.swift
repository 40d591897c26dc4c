internal import Clinux
internal import Synchronization

/// What an upload is made of: one file, and a short text beside it.
public struct UploadForm: Sendable, Equatable {
  /// The name of the file's part.
  public var file: String
  /// The name of the text's part.
  var field: String
  /// Bytes that the file may have; of a larger one none are kept.
  public var fileLimit: Int

  /// A form with its parts.
  public init(file: String, field: String, fileLimit: Int) {
    (self.file, self.field, self.fileLimit) = (file, field, fileLimit)
  }
}

/// One multipart upload, parsed as its bytes come in, at the same cost whatever the pieces are. It takes what the real
/// server's parser takes: `Boundary=` in any case, parameters after the boundary, text before the first part and after the
/// last. (libmicrohttpd's own parser, as of 0.9.75, takes neither of the first two, and finds fault with text after the last
/// part.)
public final class MultipartUpload {
  /// Bytes that a part's headers may have.
  private static let headerLimit = 16_384
  /// Bytes of the text that are kept: more than any text has that is taken, so that a longer one is none of them.
  private static let fieldLimit = 64
  /// What RFC 2046 allows.
  private static let boundaryBytes = 1...70

  /// What a part holds.
  private enum Part {
    case file, field, other
  }

  private enum State {
    /// Before the first part, whose text nobody reads, or within a part.
    case content(Part)
    /// Behind a delimiter, which headers or the end follow; with the first sign of either, if it came.
    case delimited(UInt8?)
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
  private let delimiter: ByteSearch
  private var state = State.content(.other)
  /// How many bytes of a delimiter have come. It begins with a line's end, which the first one need not have.
  private var begun = 2
  /// The headers of a part, as far as they have come.
  private var headers: [UInt8] = []

  /// Starts to parse; nil when a content type is of no multipart form.
  ///
  /// - Parameter buffer: an empty array whose storage takes the file.
  public init?(_ form: UploadForm, contentType: String, buffer: [UInt8] = []) {
    let field = HeaderField(contentType)
    guard field.value == "multipart/form-data", let boundary = field.parameters["boundary"],
      Self.boundaryBytes.contains(boundary.utf8.count)
    else { return nil }
    delimiter = ByteSearch(Array("\r\n--\(boundary)".utf8))
    file = buffer
    self.form = form
  }

  /// Takes the next bytes of the body.
  public func receive(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes
    while !rest.isEmpty { rest = UnsafeRawBufferPointer(rebasing: rest[take(rest)...]) }
  }

  /// Takes one or more bytes.
  ///
  /// - Returns: How many were taken.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    switch state {
    case .content(let part):
      let found = delimiter.find(in: bytes, begun: begun)
      // What looked like a delimiter and is none belongs to the part, before what has come now.
      let kept = found.start + begun
      let (before, now) = (min(kept, begun), max(0, found.start))
      if before > 0 { delimiter.pattern[..<before].withUnsafeBytes { receive($0, of: part) } }
      receive(UnsafeRawBufferPointer(rebasing: bytes[..<now]), of: part)
      begun = found.matched
      if begun == delimiter.pattern.count {
        begun = 0
        state = .delimited(nil)
      }
      return found.end
    case .delimited(let first):
      let byte = bytes[0]
      switch (first, byte) {
      case (nil, UInt8(ascii: " ")), (nil, UInt8(ascii: "\t")): break
      case (nil, _): state = .delimited(byte)
      case (UInt8(ascii: "-"), UInt8(ascii: "-")): state = .ended
      case (UInt8(ascii: "\r"), UInt8(ascii: "\n")):
        // The end of the headers is an empty line, also where there are none.
        headers = Array("\r\n".utf8)
        state = .headers
      default: state = .broken
      }
      return 1
    case .headers:
      // Their end may have begun with what came before.
      let known = max(0, headers.count - 3)
      let came = headers.count
      headers += bytes.prefix(Self.headerLimit - headers.count)
      let end = headers[known...].withUnsafeBytes { ByteSearch.find(Array("\r\n\r\n".utf8), in: $0) }
      guard let end else {
        if headers.count >= Self.headerLimit { state = .broken }
        return headers.count - came
      }
      begin(String(decoding: headers[..<(known + end)], as: UTF8.self))
      return known + end + 4 - came
    case .ended, .broken: return bytes.count
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
    self.headers = []
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

  /// Whether the body was a whole multipart form.
  public var isWhole: Bool {
    if case .ended = state { true } else { false }
  }

  /// Bytes of memory that it takes.
  var heldBytes: Int { file.capacity + headers.capacity }

  /// Gives the file's storage away.
  public func takeFile() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &file)
    return taken
  }
}

/// A search for bytes that may come in pieces (Knuth, Morris and Pratt).
struct ByteSearch {
  let pattern: [UInt8]
  /// Of each beginning of the pattern, how long the longest shorter one is that it ends with.
  private let shorter: [Int]

  /// - Parameter pattern: Not empty.
  init(_ pattern: [UInt8]) {
    self.pattern = pattern
    var shorter = [0, 0]
    for index in pattern.indices.dropFirst() {
      var length = shorter[index]
      while length > 0, pattern[length] != pattern[index] { length = shorter[length] }
      shorter.append(pattern[length] == pattern[index] ? length + 1 : 0)
    }
    self.shorter = shorter
  }

  /// Looks for the pattern, of which a beginning has come before.
  ///
  /// - Returns: Where it starts, before the bytes where its beginning came before; how much of it has come by `end`, where
  ///   the search ended: at the end of all of it, or of the bytes.
  func find(in bytes: UnsafeRawBufferPointer, begun: Int) -> (start: Int, matched: Int, end: Int) {
    var (matched, position, hasLooked) = (begun, 0, false)
    while position < bytes.count, matched < pattern.count {
      if matched == 0, !hasLooked {
        // All that is there in one go; then what it ends with, which may be a beginning.
        hasLooked = true
        let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
        if let start = Self.find(pattern, in: rest) {
          return (position + start, pattern.count, position + start + pattern.count)
        }
        position = max(position, bytes.count - pattern.count + 1)
      }
      let byte = bytes[position]
      while matched > 0, pattern[matched] != byte { matched = shorter[matched] }
      if pattern[matched] == byte { matched += 1 }
      position += 1
    }
    return (position - matched, matched, position)
  }

  /// Where bytes begin within others.
  static func find(_ wanted: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let found = memmem(start, bytes.count, wanted, wanted.count) else {
      return nil
    }
    return UnsafeRawPointer(found) - start
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

/// A file that a client has sent, with what stood beside it.
public final class HTTPUpload: Sendable {
  /// The text that was sent beside it.
  public let field: [UInt8]?
  /// How many bytes the file has, whether they were kept or not.
  public let fileCount: Int
  /// How many parts of the file's name there were.
  public let files: Int
  /// Whether a file came under another name.
  public let hasUnknownFile: Bool
  /// Whether the form had an end.
  public let isWhole: Bool
  private let file: Mutex<[UInt8]>
  private let lease: BodyLease

  init(_ upload: MultipartUpload, _ lease: BodyLease) {
    field = upload.field
    fileCount = upload.fileCount
    files = upload.files
    hasUnknownFile = upload.hasUnknownFile
    isWhole = upload.isWhole
    file = Mutex(upload.takeFile())
    self.lease = lease
  }

  /// Gives the file away; it is not kept here any longer.
  public func takeFile() -> [UInt8] {
    file.withLock { file in
      defer { file = [] }
      return file
    }
  }

  /// Says that what was made of the file is in memory no more: others may send theirs.
  public func release() { lease.end() }
}

/// The memory that the bodies of all requests may take together.
final class BodyBudget: Sendable {
  private let left: Mutex<Int>

  init(_ bytes: Int) {
    left = Mutex(bytes)
  }

  fileprivate func take(_ count: Int) -> Bool {
    left.withLock { left in
      guard count <= left else { return false }
      left -= count
      return true
    }
  }

  fileprivate func giveBack(_ count: Int) {
    left.withLock { $0 += count }
  }
}

/// One body's part of the memory.
final class BodyLease: Sendable {
  private let budget: BodyBudget
  private let held = Mutex<Held>(Held())

  private struct Held {
    var bytes = 0
    var isOver = false
    /// What is kept as long as it is not over.
    var kept: [any Sendable] = []
  }

  init(_ budget: BodyBudget) {
    self.budget = budget
  }

  deinit { end() }

  /// Takes as much as is needed for so many bytes; false where there is not enough left.
  func grow(to bytes: Int) -> Bool {
    held.withLock { held in
      guard !held.isOver else { return false }
      guard bytes > held.bytes else { return true }
      guard budget.take(bytes - held.bytes) else { return false }
      held.bytes = bytes
      return true
    }
  }

  /// Keeps something until it is over.
  func keep(_ kept: any Sendable) {
    held.withLock { held in
      if !held.isOver { held.kept.append(kept) }
    }
  }

  /// Gives back all of it. A second call does nothing.
  func end() {
    let ended = held.withLock { held in
      defer { held = Held(isOver: true) }
      return held
    }
    if ended.bytes > 0 { budget.giveBack(ended.bytes) }
  }
}
