import HTTPServing
import PostgreSQL
import Queue
import Support

extension JobDirectory {
  /// The picture of a job as it is stored; nil where there is none any more, or none that this login may see. That it
  /// is read is recorded first.
  ///
  /// - Parameter actor: who reads it, for the audit; nil for what the server knows itself.
  func picture(
    of job: JobID, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> ExportedImage? {
    for shard in try await shards.shards() {
      let key: [Parameter] = [.int16(shard), .int64(job.value)]
      let reading = try await Statement(
        SQLFunction("open_picture", 2), key, as: String?.self,
        while: "recording who reads the picture of job \(job)"
      ).run(on: database, as: actor)
      guard let reading else { continue }
      return try await Statement(
        SQLFunction(
          "picture_of", 3, "o_image", "o_bytes", "o_unsanitized", "o_encrypted_by", "o_wrapped_key",
          "o_sha256", "o_user_sha256", "o_object"), key + [.text(reading)],
        while: "reading the picture of job \(job)"
      ) { rows in
        try rows.first.map { try ExportedImage(picture: $0) }
      }.run(on: database)
    }
    return nil
  }
}

/// Why a picture that is there cannot be shown.
struct UnreadablePicture: Error, Sendable {
  let reason: String
  let advice: String?

  /// A reason, as a sentence, and what to do about it.
  init(_ reason: String, advice: String? = nil) {
    self.reason = reason
    self.advice = advice
  }
}

/// The picture of a job: for who reviews analyses, that of one which may be reviewed; for who exports persons, any. That
/// it is read stands in the audit before it is.
enum JobPicture {
  static let path = "/jobs/*/picture"
  static let roles: [DatabaseRole] = [.reviewer, .privacy]

  static func answer(_ request: HTTPRequest, _ context: DashboardContext) async throws -> HTTPAnswer {
    let job = try JobPage.job(request)
    // Where this dashboard has no reviews, a reviewer has no picture to judge.
    var isSeen = context.reviewsRefusal == nil
    if !isSeen { isSeen = try await context.has([.privacy]) }
    let picture = try await isSeen ? context.jobs.picture(of: job, by: context.actor(reason: nil)) : nil
    guard let picture else {
      throw PageFailure.missing(
        "There is no picture of job \(job) any more, or none that login \(context.login) may see.")
    }
    do {
      let bytes = try await context.openPicture(picture)
      var answer = HTTPAnswer(contentType: type(of: bytes), body: bytes)
      answer.headers = [("Cross-Origin-Resource-Policy", "same-origin"), ("Content-Disposition", "inline")]
      return answer
    } catch let error as UnreadablePicture {
      throw PageFailure(
        status: 409, title: "The picture cannot be shown", message: error.reason,
        advice: error.advice ?? "Ask who runs this system; the server's log may say more.")
    }
  }

  /// By its first bytes: what came in by SQL may be whatever a back-end sent, and nothing else is shown as a picture.
  private static func type(of bytes: [UInt8]) -> String {
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
    return "application/octet-stream"
  }
}
