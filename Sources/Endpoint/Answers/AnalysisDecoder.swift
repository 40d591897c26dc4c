internal import HTTPTransfer
public import Support
internal import Synchronization

/// Reads the answer to an analysis call, and accepts it whole or not at all.
///
/// Only what makes the diagnosis can be a fault: the answer's id and type, and each condition's id, name and confidence.
/// Every other field is nil where it is missing or odd: it can never cost a diagnosis.
public enum AnalysisDecoder {
  private static let greatestConditionCount = 100
  private static let greatestSymptomCount = 100

  /// Reads an answer of status 2xx.
  ///
  /// - Parameters:
  ///   - bytes: The body.
  ///   - kind: What was asked for; an answer of another type is refused.
  ///   - normalIDs: The conditions that mean "nothing found".
  /// - Throws: `DecodingFailure` for everything that is not a whole, valid analysis, a failure that the
  ///   answer itself reports among them.
  public static func decode(
    _ bytes: [UInt8], expecting kind: AnalysisKind, normalIDs: Set<String> = Condition.defaultNormalIDs
  ) throws(DecodingFailure) -> Analysis {
    let value: JSONPart
    do {
      value = try JSONReader.read(bytes)
    } catch {
      throw DecodingFailure(error)
    }
    guard ReportedFailure(answer: value) == nil else { throw DecodingFailure("", "reports a failure") }
    return try decode(value, expecting: kind, normalIDs: normalIDs)
  }

  static func decode(
    _ value: JSONPart, expecting kind: AnalysisKind, normalIDs: Set<String>
  ) throws(DecodingFailure) -> Analysis {
    let fields = try AnswerFields(value, path: "")
    let id = try fields.requiredIdentifier("id")
    let found = try self.kind(fields)
    guard found == kind else {
      throw DecodingFailure("type", "is \(found.rawValue), but the job's is \(kind.rawValue)")
    }
    let debug = fields.optional("debug_info")
    return Analysis(
      id: id, kind: kind, conditions: try conditions(fields, normalIDs),
      answeredAt: fields.time("timestamp", "created_at"), endpointUser: user(fields),
      model: debug?.text("data_source", limit: AnswerFields.shortLimit),
      processingMilliseconds: debug?["processing_time"]?.number.flatMap { $0 >= 0 ? $0 : nil })
  }

  /// The account that the endpoint names: by its id, or as the whole of its profile, of which only the id is
  /// kept.
  private static func user(_ fields: AnswerFields) -> String? {
    fields.optional("user")?.identifier("id") ?? fields.identifier("user") ?? fields.identifier("user_id")
  }

  /// The type that an object names.
  static func kind(_ fields: AnswerFields) throws(DecodingFailure) -> AnalysisKind {
    guard let value = fields["type"] else { throw fields.missing("type") }
    guard let text = value.text, let kind = AnalysisKind(rawValue: text) else {
      throw DecodingFailure(fields.path(of: "type"), "is not a type that is known")
    }
    return kind
  }

  /// The conditions of an object, in their order.
  static func conditions(
    _ fields: AnswerFields, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> [Condition] {
    let elements = try fields.requiredList("conditions", limit: greatestConditionCount)
    var conditions: [Condition] = []
    conditions.reserveCapacity(elements.count)
    let path = fields.path(of: "conditions")
    for (index, element) in elements.enumerated() {
      conditions.append(try condition(try AnswerFields(element, path: path, at: index), normalIDs))
    }
    return conditions
  }

  private static func condition(
    _ fields: AnswerFields, _ normalIDs: Set<String>
  ) throws(DecodingFailure) -> Condition {
    let id = try fields.requiredText("id")
    return Condition(
      id: id, name: try fields.requiredText("name"), confidence: try confidence(fields),
      explanation: fields.text("description"),
      symptoms: fields.texts("symptoms", limit: greatestSymptomCount),
      isPotentiallySerious: fields.bool("isPotentiallySerious"),
      recommendsConsultation: fields.bool("recommendConsultation"),
      treatment: fields.text("treatmentInfo"), recommendation: fields.text("recommendationText"),
      isNormal: normalIDs.contains(id))
  }

  private static func confidence(_ fields: AnswerFields) throws(DecodingFailure) -> Confidence {
    guard let value = fields["confidence"] else { throw fields.missing("confidence") }
    guard let number = value.number, let confidence = Confidence(number) else {
      throw DecodingFailure(fields.path(of: "confidence"), "is not a number from 0 to 1")
    }
    return confidence
  }
}

/// Whether an answer belongs to the picture that was sent.
///
/// A connection out of step, a cache or a faulty server may answer with what was found in another picture, whole and
/// well-formed. What such an answer says of itself gives it away.
struct AnswerMatch: Sendable {
  /// How old an answer may be, in seconds. A job that is tried again may get what its first call found, and a job is
  /// tried again within days.
  private static let greatestAge = 31 * 86_400.0

  private let known = KnownAnswers()

  /// Checks an answer that is well otherwise.
  ///
  /// - Parameters:
  ///   - value: The answer's JSON, of which `analysis` was made.
  ///   - now: Seconds since 1970, where the answer does not say when it was sent.
  /// - Throws: What contradicts the request.
  func check(
    _ analysis: Analysis, _ value: JSONPart, of response: Response, to picture: Fingerprint, now: Double
  ) throws(DecodingFailure) {
    if let count = value["debug_info"]?["image_data_length"]?.number, !picture.hasLength(count) {
      throw DecodingFailure("debug_info.image_data_length", "is not the length of the image that was sent")
    }
    // RFC 9111, section 5.1: only what comes out of a cache is older than the time that its call took.
    if let age = response.headers["Age"].flatMap({ Double($0) }), age > response.timing.total.inSeconds + 1 {
      throw DecodingFailure("", "comes from a cache, by its header Age")
    }
    let sentAt = response.headers["Date"].flatMap { RetryAfter.date($0, now: now) } ?? now
    if let answeredAt = analysis.answeredAt, answeredAt < sentAt - Self.greatestAge {
      throw DecodingFailure("timestamp", "is more than 31 days before the request")
    }
    guard known.isNew(analysis.id, or: picture) else {
      throw DecodingFailure("id", "is that of another image's answer")
    }
  }
}

/// An image's length and some of its bytes: enough to tell it from others without reading all of it.
struct Fingerprint: Hashable {
  private let length: Int
  private let sample: Int

  /// Reads 64 words of an image, spread over all of it.
  init(_ image: any BodyBytes) {
    length = image.count
    sample = image.withUnsafeBytes { bytes in
      var hasher = Hasher()
      let words = bytes.count / 8
      guard words > 0 else {
        hasher.combine(bytes: bytes)
        return hasher.finalize()
      }
      for word in stride(from: 0, to: words, by: max(1, words / 64)) {
        hasher.combine(bytes.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self))
      }
      return hasher.finalize()
    }
  }

  /// Whether an endpoint that counts bytes, or characters of base64, would have counted so many.
  func hasLength(_ count: Double) -> Bool {
    count == Double(length) || count == Double((length + 2) / 3 * 4)
  }
}

/// The ids of an endpoint's latest answers, with the images that they were for.
private final class KnownAnswers: Sendable {
  private static let capacity = 512

  private struct State {
    var images: [String: Fingerprint] = [:]
    /// The ids in the order in which they came, as a ring.
    var order: [String] = []
    var next = 0
  }

  private let state = Mutex(State())

  /// Whether an id was not met yet, or for this image only: the same call may be answered twice.
  func isNew(_ id: String, or image: Fingerprint) -> Bool {
    state.withLock { state in
      if let known = state.images[id] { return known == image }
      state.images[id] = image
      if state.order.count < Self.capacity {
        state.order.append(id)
      } else {
        state.images[state.order[state.next]] = nil
        state.order[state.next] = id
        state.next = (state.next + 1) % Self.capacity
      }
      return true
    }
  }
}

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
