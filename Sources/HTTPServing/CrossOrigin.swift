/// Which sites' pages may read a server's answers in a browser (CORS). Others' browsers keep the answers from them.
public struct CrossOrigin: Sendable {
  /// The sites, each with its scheme, in small letters: `https://app.example.org`.
  var origins: Set<String>
  /// The headers that their requests may have.
  var requestHeaders: [String]
  /// The headers of answers that they may read, beside those that all may.
  var answerHeaders: [String]

  /// Sites with what they may send and read.
  public init(origins: Set<String> = [], requestHeaders: [String] = [], answerHeaders: [String] = []) {
    (self.origins, self.requestHeaders, self.answerHeaders) = (origins, requestHeaders, answerHeaders)
  }

  /// Whether a text is an origin as browsers send it.
  public static func isOrigin(_ text: String) -> Bool {
    let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
    guard let host = scheme.map({ text.dropFirst($0.count) }), !host.isEmpty else { return false }
    return host.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      default: ".-:[]".utf8.contains($0)
      }
    }
  }

  /// What each answer to a request of an origin says, nil where the request names none.
  func headers(for origin: String?) -> [(name: String, value: String)] {
    guard !origins.isEmpty else { return [] }
    guard let origin, origins.contains(origin) else { return [("Vary", "Origin")] }
    return [
      ("Vary", "Origin"), ("Access-Control-Allow-Origin", origin),
      ("Access-Control-Expose-Headers", answerHeaders.joined(separator: ", ")),
    ]
  }

  /// What a browser is answered that asks, before its request, whether it may send it; nil where it may not.
  func preflight(from origin: String?, methods: [String]) -> HTTPAnswer? {
    guard let origin, origins.contains(origin), !methods.isEmpty else { return nil }
    var answer = HTTPAnswer.text(204, "")
    answer.body = []
    answer.headers = [
      ("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
      ("Access-Control-Allow-Headers", requestHeaders.joined(separator: ", ")),
      ("Access-Control-Max-Age", "600"),
    ]
    return answer
  }
}
