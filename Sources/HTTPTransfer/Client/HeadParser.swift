/// Reads an answer's header line by line, as libcurl delivers it: interim answers first, then the final
/// one, then trailers.
struct HeadParser {
  private(set) var byteCount = 0
  /// Whether the final answer's header has ended.
  private(set) var isComplete = false
  private var status = 0
  private var version = HTTPVersion.http1
  private var headers = Headers()

  /// Status and fields, once they are whole.
  var result: ResponseHead? {
    isComplete ? ResponseHead(status: status, headers: headers, version: version) : nil
  }

  /// Whether the body is compressed, as a whole or on its way.
  var isEncoded: Bool {
    (headers.all("Content-Encoding") + headers.all("Transfer-Encoding")).contains { field in
      field.split(separator: ",").contains { coding in
        let name = coding.filter { $0 != " " && $0 != "\t" }.lowercased()
        return !["", "identity", "chunked"].contains(name)
      }
    }
  }

  mutating func take(_ line: UnsafeRawBufferPointer) {
    byteCount += line.count
    guard !isComplete else { return }  // a trailer
    var bytes = line[...]
    while let last = bytes.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
      bytes.removeLast()
    }
    if bytes.isEmpty {
      isComplete = status >= 200
    } else if bytes.starts(with: Self.statusLine) {
      begin(String(decoding: bytes, as: UTF8.self))
    } else if Self.isBlank(bytes[bytes.startIndex]) {
      headers.continueLast(with: Self.trimmed(bytes))
    } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
      headers.add(Self.trimmed(bytes[..<colon]), Self.trimmed(bytes[(colon + 1)...]))
    }
  }

  private mutating func begin(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 2)
    status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    version = line.hasPrefix("HTTP/2") ? .http2 : .http1
    headers = Headers()
  }

  private static let statusLine = Array("HTTP/".utf8)

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    var bytes = bytes
    while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
