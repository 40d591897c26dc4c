internal import HTTPServing
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

/// Why an app does not get what it asks for, in the words and by the codes of the endpoint's API.
struct APIFailure: Error, Sendable {
  let status: Int
  let message: String
  var code: String?
  var details: String?
  /// Seconds after which to ask again.
  var retryAfter: Int?
  /// Where it was reached, the month's limit.
  var limit: Int?

  init(_ status: Int, _ message: String, code: String? = nil, details: String? = nil, retryAfter: Int? = nil)
  {
    self.status = status
    self.message = message
    self.code = code
    self.details = details
    self.retryAfter = retryAfter
  }

  /// The answer, in the API's shape.
  var answer: HTTPAnswer {
    var members: [JSONValue.Member] = [
      .init(name: "error", value: true), .init(name: "message", value: .string(message)),
    ]
    if let code { members.append(.init(name: "code", value: .string(code))) }
    if let details { members.append(.init(name: "details", value: .string(details))) }
    // As the real server words it, beside the code.
    if code == Self.tooLargeCode { members.append(.init(name: "success", value: false)) }
    var answer = HTTPAnswer.json(status, .object(members))
    if let limit { answer.headers += LimitHeaders.of(used: limit, limit: limit) }
    if let retryAfter { answer.headers.append(("Retry-After", String(retryAfter))) }
    if status == 401 { answer.headers.append(("WWW-Authenticate", "Bearer")) }
    return answer
  }
}

extension APIFailure {
  private static let tooLargeCode = "LIMIT_FILE_SIZE"
  private static let serverCode = "SERVER_ERROR"
  private static let notFoundCode = "NOT_FOUND"

  /// No token, or one that is not valid; why is not said.
  static let unauthorized = APIFailure(401, "Invalid or expired token.")
  /// A log-in with the wrong address or token.
  static let wrongCredentials = APIFailure(
    401, "Invalid email or password.", code: "INVALID_CREDENTIALS")
  /// What the API of an endpoint has and an office does here.
  static func notHere(_ message: String) -> APIFailure { APIFailure(403, message, code: "NOT_DONE_HERE") }
  /// A refresh token that does not count; why is not said.
  static let sessionEnded = APIFailure(
    401, "The session has ended. Ask your clinic for a new code.", code: "SESSION_ENDED")
  /// There is none, or it is another user's.
  static let noAnalysis = APIFailure(404, "There is no such analysis.", code: notFoundCode)
  /// There is none, it is not the user's, or it is over.
  static let noShare = APIFailure(404, "There is no such share.", code: notFoundCode)
  /// There is none, or it is over.
  static let noSession = APIFailure(404, "There is no such session.", code: notFoundCode)
  /// No photo of it is kept, or not for this user.
  static let noPicture = APIFailure(404, "There is no photo of this analysis.", code: notFoundCode)
  static let unreadablePicture = APIFailure(
    409, "The photo cannot be shown. Ask your clinic.", code: "IMAGE_UNREADABLE")
  /// Too many photos are being sent to the user's apps, or to all.
  static let manyPictures = APIFailure(
    429, "Too many photos are being sent at once. Try again later.", retryAfter: 1)
  static let monthlyLimit = APIFailure(
    429, "You've reached your analysis limit for this month.", code: "ANALYSIS_LIMIT_EXCEEDED")
  static let missingForm = APIFailure(
    400, "The request has no multipart form.", code: "MISSING_REQUEST_BODY")
  static let endlessForm = APIFailure(
    400, "The multipart form has no end.", code: "MISSING_REQUEST_BODY")
  static let otherFile = APIFailure(
    400, "One file is taken, under the name image.", code: "INVALID_FIELD_NAME")
  static let missingBody = APIFailure(
    400, "The request body is missing or not of the expected form.", code: "MISSING_REQUEST_BODY")
  static let missingImage = APIFailure(400, "No image was sent.", code: "MISSING_IMAGE")
  static let wrongType = APIFailure(
    400, "The type is neither throat nor ear.", code: "INVALID_MODEL_TYPE")
  static let missingType = APIFailure(
    400, "The type is missing: it is throat or ear.", code: "INVALID_MODEL_TYPE")
  static let keyConflict = APIFailure(
    422, "The Idempotency-Key was used before for another image or type.", code: "IDEMPOTENCY_KEY_REUSED")
  static let wrongProfile = APIFailure(
    400, "A name has 1 to 200 characters, an e-mail address 1 to 320.", code: "INVALID_PROFILE")
  static let wrongKey = APIFailure(
    400, "The Idempotency-Key has 1 to 200 printable ASCII characters.", code: "INVALID_IDEMPOTENCY_KEY")
  static let stopping = APIFailure(
    503, "The server is stopping. Try again.", code: serverCode, retryAfter: 2)
  /// The queue or the database has no room, or does not answer.
  static let busy = APIFailure(
    503, "The server cannot take this now. Try again later.", code: serverCode, retryAfter: 10)
  /// The database does not answer.
  static let away = APIFailure(
    503, "The server cannot work now. Try again later.", code: serverCode, retryAfter: 5)
  static let internalFailure = APIFailure(500, "The server failed.", code: serverCode)

  static func tooLarge(_ limit: Int) -> APIFailure {
    APIFailure(413, "The image is too large: at most \(limit) bytes are taken.", code: tooLargeCode)
  }

  /// Too many requests of one user.
  static func tooFast(_ wait: Duration) -> APIFailure {
    APIFailure(
      429, "Too many requests. Try again later.", retryAfter: max(1, Int(wait.inSeconds.rounded(.up))))
  }

  /// Too many jobs of the user wait.
  static let manyWaiting = APIFailure(
    429, "Too many analyses of yours are waiting. Try again later.", retryAfter: 10)

  /// Too many photos that one user sends at once.
  static let manyUploads = APIFailure(
    429, "Too many photos of yours are being sent at once. Try again later.", retryAfter: 1)
  /// Too many apps of one user that listen.
  static let manyListeners = APIFailure(
    429, "Too many apps of yours listen to events. Try again later.", retryAfter: 10)

  /// A picture that is not taken.
  init(_ refusal: ImageRefusal, limit: Int) {
    switch refusal.code {
    case .fileTooLarge: self = .tooLarge(limit)
    case .empty: self = .missingImage
    case .notProcessed: self = .busy
    default:
      self.init(
        400, refusal.message, code: "INVALID_IMAGE_FORMAT", details: refusal.code.rawValue)
    }
  }

  /// A submission that the database refused.
  init(_ refusal: Refusal) {
    switch Refusal.Reason(rawValue: refusal.code) ?? .other {
    case .quota:
      self = .monthlyLimit
      limit = refusal.limit
    case .keyConflict: self = .keyConflict
    case .waitingLimit: self = .manyWaiting
    case .queueFull, .storageFull: self = .busy
    case .badArgument: self = .wrongKey
    default: self = .internalFailure
    }
  }

  /// A call of the database that failed.
  init(_ error: JobQueueError) {
    let state = (error.underlying as? PostgreSQLError)?.sqlState
    // What the database says of a token that is not valid.
    if state == "28000", (error.underlying as? PostgreSQLError)?.phase == nil {
      self = .unauthorized
    } else if error.isTemporary || error.code == .cancelled {
      self = .busy
    } else {
      self = .internalFailure
    }
  }

  /// What the HTTP server refused by itself.
  init(_ refusal: HTTPRefusal) {
    switch refusal.status {
    case 413: self.init(413, refusal.sentence, code: Self.tooLargeCode)
    case 404: self.init(404, "There is nothing at this path.", code: Self.notFoundCode)
    case 405: self.init(405, "This path is not asked for by this method.", code: "METHOD_NOT_ALLOWED")
    case 500...: self.init(refusal.status, refusal.sentence, code: Self.serverCode)
    default: self.init(refusal.status, refusal.sentence)
    }
  }
}
