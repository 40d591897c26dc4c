import PostgreSQL
public import Queue
public import Support

extension JobDirectory {
  /// The picture of a job as it is stored; nil where there is none any more, or none that this login may see. That it
  /// is read is recorded first.
  ///
  /// - Parameter actor: who reads it, for the audit; nil for what the server knows itself.
  public func picture(
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
          "o_sha256", "o_user_sha256"), key + [.text(reading)], while: "reading the picture of job \(job)"
      ) { rows in
        try rows.first.map { try ExportedImage($0) }
      }.run(on: database)
    }
    return nil
  }
}
