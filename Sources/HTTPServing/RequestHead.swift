internal import Cmicrohttpd

/// The first line and the headers of a request, as they were sent.
///
/// libmicrohttpd 0.9.75 splits them where they lie and puts zero bytes in place of colons and line ends. It takes a bare
/// line feed for a line's end, ends a value at a zero byte, and drops the second line of a folded header: what a proxy
/// before this server may read otherwise, and pass on as one request what is two here. So what it gives has to fill the
/// memory without a gap.
enum RequestHead {
  /// The first line, looked at when it was there, before the path is decoded in its place.
  struct Line {
    fileprivate let start: UInt
    fileprivate let size: Int
    fileprivate let fault: String?

    init(_ target: UnsafePointer<CChar>) {
      let bytes = RequestHead.bytes(target)
      start = UInt(bitPattern: target)
      size = bytes.count
      let path = bytes.prefix { $0 != UInt8(ascii: "?") }
      if String(decoding: path, as: UTF8.self).contains("%00") {
        fault = "A zero byte is in the path, and is no part of any name."
      } else if !bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) {
        fault = "The request's first line has a blank or a control character in its path."
      } else {
        fault = nil
      }
    }
  }

  private static let twoLengths = "The request says twice how long its body is."
  static let malformed = "The request's headers are malformed."

  /// Why a request is refused; nil where it is read by everybody alike.
  static func fault(
    of connection: HTTPConnection, _ method: UnsafePointer<CChar>, _ line: Line,
    _ version: UnsafePointer<CChar>
  ) -> String? {
    if let fault = line.fault { return fault }
    let fields = connection.fields
    let name = bytes(method)
    let versionName = bytes(version)
    guard name.allSatisfy(isOfToken), line.start == end(name) + 1,
      end(versionName) == line.start + UInt(line.size + 1 + versionName.count)
    else { return malformed }
    let headEnd = start(name) + UInt(connection.headSize)
    var position = end(versionName) + 2
    guard position < headEnd, isEmpty(position - 2, 2) else { return malformed }
    for field in fields {
      let blanks = Int(bitPattern: field.value.baseAddress) - Int(bitPattern: end(field.name)) - 1
      guard start(field.name) == position, !field.name.isEmpty, field.name.allSatisfy(isOfToken),
        isEmpty(end(field.name), 1), (0...connection.headSize).contains(blanks),
        UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: end(field.name) + 1), count: blanks)
          .allSatisfy({ $0 == 0x20 || $0 == 0x09 }),
        field.value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
        end(field.value) + 2 < headEnd, isEmpty(end(field.value), 2)
      else { return malformed }
      position = end(field.value) + 2
    }
    guard position + 2 == headEnd, isEmpty(position, 2) else { return malformed }
    return faultOfFraming(connection.headers, version: String(cString: version))
  }

  private static func faultOfFraming(_ headers: FormValues, version: String) -> String? {
    let codings = headers.all("transfer-encoding")
    if headers.all("content-length").count + codings.count > 1 { return twoLengths }
    if let coding = codings.first, coding.lowercased() != "chunked" || version != "HTTP/1.1" {
      return "The request's body is coded in a way that is not understood."
    }
    let hosts = headers.all("host").count
    if hosts > 1 { return "The request names two hosts." }
    if hosts == 0, version == "HTTP/1.1" { return "The request names no host." }
    return nil
  }

  private static func bytes(_ text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
    var count = 0
    while text[count] != 0 { count += 1 }
    return UnsafeRawBufferPointer(start: text, count: count)
  }

  private static func start(_ bytes: UnsafeRawBufferPointer) -> UInt { UInt(bitPattern: bytes.baseAddress) }

  private static func end(_ bytes: UnsafeRawBufferPointer) -> UInt { start(bytes) + UInt(bytes.count) }

  private static func isEmpty(_ position: UInt, _ count: Int) -> Bool {
    UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: position), count: count).allSatisfy { $0 == 0 }
  }

  /// Whether a byte may stand in a method or a header's name (RFC 9110).
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
