import Support

/// A failure that an answer's body reports, whatever its status.
struct ReportedFailure: Equatable {
  /// The condition by which a failed inference hides in an answer that otherwise looks well, and the code of every
  /// failure that comes as a condition.
  static let conditionID = "analysis_error"

  var code: String?
  var errorID: String?
  var message: String?
  /// Whether it came as a condition of an otherwise well-formed analysis.
  var isCondition = false

  /// The failure in an answer; nil when it reports none. An `error` of true, any non-empty text or any
  /// object is one; absent, null, false and the empty text are none. So are `success` of false, and a `status` that
  /// says so (JSend has "fail" and "error").
  init?(answer: JSONPart) {
    if Self.isError(answer["error"]) || answer["success"]?.bool == false
      || Self.failedStates.contains(answer["status"]?.text?.lowercased() ?? "")
    {
      self.init(body: answer)
    } else if let condition = Self.failedCondition(answer) {
      self.init(body: condition)
      code = Self.conditionID
      errorID = errorID ?? Self.symbol(answer["error_id"])
      isCondition = true
    } else {
      return nil
    }
  }

  /// What a body says of a failure that is certain already, from the status.
  init(body: JSONPart) {
    let nested = body["error"]
    code = Self.symbol(body["code"] ?? nested?["code"])
    errorID = Self.symbol(body["error_id"] ?? nested?["error_id"])
    message = body["message"]?.text ?? nested?["message"]?.text ?? nested?.text
    if message ?? "" == "" { message = body["error_note"]?.text }
  }

  private static let failedStates: Set<String> = ["error", "fail", "failed", "failure"]

  private static func isError(_ value: JSONPart?) -> Bool {
    guard let value else { return false }
    return value.bool != false && value.text != ""
  }

  private static func failedCondition(_ answer: JSONPart) -> JSONPart? {
    answer["conditions"]?.elements?.first { condition in
      condition["id"]?.text == conditionID || condition["isError"]?.bool == true
        // A condition that was made up after a failure: of it the endpoint knows nothing.
        || condition["error_note"] != nil || isError(condition["error"])
    }
  }

  /// A code or id as programs write them. Anything else is not kept: it could be a sentence, a name or an
  /// address.
  private static func symbol(_ value: JSONPart?) -> String? {
    guard let text = value?.text, (1...100).contains(text.utf8.count) else { return nil }
    let isSymbol = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: ":"):
        true
      default: false
      }
    }
    return isSymbol ? text : nil
  }
}
