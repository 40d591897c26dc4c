/// A request's body as libcurl gets it: pieces of memory and the header lines that go with them.
struct RequestBody {
  let isPresent: Bool
  let segments: [any BodyBytes]
  let count: Int
  let headerLines: [String]

  init(_ body: Body) throws(TransferError) {
    switch body {
    case .none:
      (isPresent, segments, count, headerLines) = (false, [], 0, [])
    case .bytes(let bytes, let contentType):
      guard !contentType.isEmpty, FieldRules.isValue(contentType) else {
        throw .invalidRequest("the content type has a control character or is empty")
      }
      (isPresent, segments, count) = (true, [bytes], bytes.count)
      headerLines = Self.lines(contentType)
    case .multipart(let form):
      let (contentType, segments) = try form.encoded()
      (isPresent, self.segments) = (true, segments)
      count = segments.reduce(0) { $0 + $1.count }
      headerLines = Self.lines(contentType)
    }
  }

  /// `Expect:` without a value keeps libcurl from waiting a second for the server's consent to a large body.
  private static func lines(_ contentType: String) -> [String] {
    ["Content-Type: \(contentType)", "Expect:"]
  }
}
