import Formatting

@testable import ModelClient

/// A failure that an answer's body reports, whatever its status.
struct TreeReport: Equatable {
  /// The condition by which a failed inference hides in an answer that otherwise looks well, and the code of every
  /// failure that comes as a condition.
  static let conditionID = "analysis_error"

  var code: String?
  var errorID: String?
  var message: String?
  /// Whether it came as a condition of an otherwise well-formed analysis.
  var isCondition = false

  /// The failure in an answer; nil when it reports none. An `error` of true, any non-empty text or any
  /// object is one; absent, null, false and the empty text are none.
  init?(answer: JSONValue) {
    if Self.isError(answer["error"]) {
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
  init(body: JSONValue) {
    let nested = body["error"]
    code = Self.symbol(body["code"] ?? nested?["code"])
    errorID = Self.symbol(body["error_id"] ?? nested?["error_id"])
    message = body["message"]?.text ?? nested?["message"]?.text ?? nested?.text
    if message ?? "" == "" { message = body["error_note"]?.text }
  }

  private static func isError(_ value: JSONValue?) -> Bool {
    switch value {
    case nil, .bool(false)?, .string("")?: false
    default: true
    }
  }

  private static func failedCondition(_ answer: JSONValue) -> JSONValue? {
    guard case .array(let conditions)? = answer["conditions"] else { return nil }
    return conditions.first { condition in
      condition["id"]?.text == conditionID || condition["isError"] == .bool(true)
        // A condition that was made up after a failure: of it the endpoint knows nothing.
        || condition["error_note"] != nil || isError(condition["error"])
    }
  }

  /// A code or id as programs write them. Anything else is not kept: it could be a sentence, a name or an
  /// address.
  private static func symbol(_ value: JSONValue?) -> String? {
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
