internal import HTTPServing
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

extension Gateway {
  /// The photo of an analysis, for its user and for whom it is shared with.
  var pictureRoute: HTTPRoute {
    HTTPRoute(.get, "/api/analyses/*/image") { request in
      await self.answer(request) { caller in try await self.picture(request, caller) }
    }
  }

  private func picture(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    let job = try job(request.parameters.first)
    // Until the app has read it, or has gone.
    guard let place = pictures.take(caller.key) else { throw APIFailure.manyPictures }
    let reading = try await recorded(caller) {
      try await PictureCalls.opening(caller.token, job).run(on: database)
    }
    guard let reading,
      let stored = try await PictureCalls.reading(caller.token, job, reading).run(on: database)
    else { throw APIFailure.noPicture }
    do throws(StoredPicture.Unreadable) {
      var bytes = try await opened(whole(stored.image))
      if stored.isUnsanitized { bytes = try await cleaned(bytes, for: caller.key) }
      guard let format = bytes.withUnsafeBytes({ ImageFormat($0) }) else {
        throw StoredPicture.Unreadable("It is no picture.")
      }
      var answer = HTTPAnswer(contentType: format.contentType, body: bytes)
      answer.kept = place
      return answer
    } catch {
      log.error(
        "A photo cannot be shown to its user",
        ["job": .string(job.description), "reason": .string(error.reason)])
      throw APIFailure.unreadablePicture
    }
  }

  private func whole(_ image: StoredImage) async throws(StoredPicture.Unreadable) -> StoredImage {
    do throws(ImageStoreError) {
      return try await image.whole(from: configuration.imageStore)
    } catch {
      throw StoredPicture.Unreadable(error.message)
    }
  }

  @concurrent
  private func opened(_ image: StoredImage) async throws(StoredPicture.Unreadable) -> [UInt8] {
    try image.bytes.withUnsafeBytes { bytes throws(StoredPicture.Unreadable) in
      try StoredPicture.opened(
        bytes, sha256: image.sha256,
        image.encryption.map { ($0.storedKey.keyID, $0.storedKey.wrappedKey, $0.userSHA256) },
        configuration.keys)
    }
  }

  /// What came in by SQL has been looked at by nobody, and may say where it was taken.
  private func cleaned(_ bytes: [UInt8], for user: UserKey) async throws(StoredPicture.Unreadable) -> [UInt8]
  {
    do throws(UndecodedImage) {
      return try await intake.decoders.clean(
        bytes, limits: intake.limits, for: Requester(Lane(.throat, .normal), user)
      ).bytes
    } catch {
      throw StoredPicture.Unreadable("It cannot be cleaned.")
    }
  }
}

/// The calls of the database for photos.
private enum PictureCalls {
  /// Records that a photo is seen; nil where there is none for the user of the token.
  static func opening(_ token: AppToken, _ job: JobID) -> Statement<String?> {
    Statement(
      SQLFunction("gateway_open_picture", 3),
      [.int16(token.shard), .bytes(token.hash), .int64(job.value)], as: String?.self,
      while: "recording that a photo is seen")
  }

  static func reading(
    _ token: AppToken, _ job: JobID, _ reading: String
  ) -> Statement<(image: StoredImage, isUnsanitized: Bool)?> {
    Statement(
      SQLFunction(
        "gateway_picture", 4, "o_bytes", "o_sha256", "o_unsanitized", "o_encrypted_by", "o_wrapped_key",
        "o_user_sha256", "o_object"),
      [.int16(token.shard), .bytes(token.hash), .int64(job.value), .text(reading)],
      while: "reading a photo"
    ) { rows in
      try rows.first.map { row in
        (try StoredImage(row, hasObject: true), try row.bool("o_unsanitized"))
      }
    }
  }
}
