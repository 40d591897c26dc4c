import HTTPServing
import Support

/// `POST /api/analyze`.
struct AnalyzeRoute {
  /// What is known of an upload when its answer is decided.
  struct Outcome {
    var answer: Answer
    var image: ImageDigest?
    var attempt = 0
  }

  let core: EndpointCore

  /// Decides the answer to a whole upload.
  func answer(_ exchange: Exchange) -> Outcome {
    var account: Account?
    if let token = exchange.token {
      account = core.accounts.account(ofToken: token)
      if account == nil { return Outcome(answer: .unauthorized) }
    } else if core.configuration.requiresToken {
      return Outcome(answer: .unauthorized)
    }
    guard let upload = exchange.upload else {
      return Outcome(
        answer: .failure(400, "The request has no multipart form.", code: "MISSING_REQUEST_BODY"))
    }
    defer { core.buffers.giveBack(upload.takeFile()) }
    if upload.fileCount > Exchange.form.fileLimit { return Outcome(answer: .imageTooLarge) }
    if let refusal = refusal(of: upload) { return Outcome(answer: refusal) }
    guard let kind = upload.field.flatMap({ AnalysisKind(rawValue: String(decoding: $0, as: UTF8.self)) })
    else {
      return Outcome(
        answer: .failure(400, "The type is neither throat nor ear.", code: "INVALID_MODEL_TYPE"))
    }
    let digest = upload.file.withUnsafeBytes { ImageDigest($0) }
    let key = exchange.idempotencyKey.map { ImageDigest(text: $0) } ?? digest
    var outcome = Outcome(answer: Answer(body: []), image: digest)
    outcome.attempt = core.tries.next(key.low)
    let strike = core.configuration.faults.strike(key: key.low, attempt: outcome.attempt)
    outcome.answer = settled(
      strike, kind, upload, digest: digest, key: key, account: account, startedAt: exchange.startedAt)
    return outcome
  }

  private func refusal(of upload: MultipartUpload) -> Answer? {
    if upload.hasUnknownFile || upload.files > 1 {
      return .failure(400, "One file is taken, under the name image.", code: "INVALID_FIELD_NAME")
    }
    if upload.fileCount == 0 {
      return .failure(400, "No image was sent.", code: "MISSING_IMAGE")
    }
    if !upload.isWhole {
      return .failure(400, "The multipart form has no end.", code: "MISSING_REQUEST_BODY")
    }
    return nil
  }

  private func settled(
    _ strike: FaultPlan.Strike?, _ kind: AnalysisKind, _ upload: MultipartUpload, digest: ImageDigest,
    key: ImageDigest, account: Account?, startedAt: ContinuousClock.Instant
  ) -> Answer {
    if let strike, let answer = FaultAnswers(core.configuration, now: core.clock.now).plain(strike) {
      return answer
    }
    guard let analysis = core.cache.analysis(digest, kind, upload.file) else {
      return .failure(400, "The image is no readable JPEG or PNG.", code: "INVALID_IMAGE_FORMAT")
    }
    var counted: Account?
    if let account {
      counted = core.accounts.takeAnalysis(account.id)
      if counted == nil { return .limitExceeded(429) }
    }
    // The same picture under the same key has the same id in every run.
    let id = "analysis-" + ImageDigest.hex(digest.high ^ key.low)
    var success = AnalysisAnswer(
      id: id, kind: kind, conditions: analysis.conditionsJSON, user: counted?.id,
      imageCount: digest.count, duration: .now - startedAt, dialect: core.configuration.dialect,
      isDecoded: core.configuration.decodesPictures)
    // The real server subtracts two readings of a clock that may be set back: of 0.8 % of its answers it is -1.
    if core.configuration.dialect == .server, key.low % 125 == 0 { success.duration = .milliseconds(-1) }
    if let strike {
      return FaultAnswers(core.configuration, now: core.clock.now).changed(success, analysis, strike)
    }
    var answer = Answer(body: success.json(now: core.clock.now))
    answer.outcome = "analysis"
    return answer
  }
}

/// The body of a successful analysis, with the parts that the unusual answers change.
struct AnalysisAnswer {
  /// How the time is written.
  enum Stamp { case usual, seconds, createdAt }

  var id: String?
  var kind: AnalysisKind
  var stamp = Stamp.usual
  /// A JSON array, or nil for an answer without it.
  var conditions: [UInt8]?
  /// The id of the account that called; nil for a call without one.
  var user: String?
  var imageCount: Int
  var duration: Duration
  var dialect: EndpointConfiguration.Dialect
  /// More members, each with a comma before it.
  var extra = ""

  /// Whether the conditions come from the picture's pixels.
  var isDecoded = true

  /// Says what computed the conditions.
  private var source: String {
    isDecoded
      ? "stand-in: colour statistics of the picture, not a medical model"
      : "stand-in: numbers drawn from the image's digest, not a medical model"
  }

  /// - Parameter now: seconds since 1970.
  func json(now: Double) -> [UInt8] {
    var text = JSONWriter()
    text.raw("{")
    if let id {
      text.raw("\"id\":")
      text.string(id)
      text.raw(",")
    }
    text.raw("\"type\":\"\(kind.rawValue)\",")
    switch stamp {
    case .usual: text.raw("\"timestamp\":\"\(dialect.moment(now))\"")
    case .seconds: text.raw("\"timestamp\":\((now * 1000).rounded(.down) / 1000)")
    case .createdAt: text.raw("\"created_at\":\"\(UnixTime(secondsSince1970: now).rfc3339Seconds)\"")
    }
    if let conditions {
      text.raw(",\"conditions\":")
      text.raw(conditions)
    }
    if let user {
      text.raw(",\"user\":")
      text.string(user)
    } else {
      text.raw(",\"user_id\":\"anonymous\"")
    }
    text.raw(",\"model\":\"stand-in-\(isDecoded ? "colour-statistics" : "digest")\"")
    text.raw(extra)
    text.raw(",\"debug_info\":{\"data_source\":\"\(source)\",\"image_data_length\":\(imageCount)")
    text.raw(",\"processing_time\":\(Int((duration.inSeconds * 1e3).rounded()))}}")
    return text.bytes
  }
}
