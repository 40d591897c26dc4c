internal import EventLoop
internal import HTTPServing
internal import Images
internal import Support

extension Gateway {
  /// `POST /api/analyze`.
  var analyzeRoute: HTTPRoute {
    HTTPRoute(
      upload: UploadForm(file: "image", field: "type", fileLimit: configuration.images.maxBytes),
      to: "/api/analyze",
      admit: { request in await self.refusal(of: request) },
      { request in await self.analyze(request) })
  }

  /// Why a photo is not even read; nil where it is.
  private func refusal(of request: HTTPRequest) async -> HTTPAnswer? {
    do {
      try expectToken(request)
      let caller = try await presence.call { try await self.admitted(request, share: Share.photo) }
      _ = try idempotencyKey(request)
      guard let place = uploads.take(caller.key) else {
        rate.giveBack(Share.photo, caller.key)
        throw APIFailure.manyUploads
      }
      request.keepWithFile(place)
      return nil
    } catch {
      let failure = failure(error)
      meters.uploads.add(failure.status == 429 ? "rate_limit" : "not_admitted")
      return failure.answer
    }
  }

  private func analyze(_ request: HTTPRequest) async -> HTTPAnswer {
    await answered {
      let began = EventLoop.now
      do {
        // A second look that costs nothing, for who it is; what is asked of the database is judged there anew.
        let caller = try await presence.call { try await self.caller(request) }
        let (kind, upload) = try photo(request)
        let imageBytes = upload.fileCount
        let key = try idempotencyKey(request)
        let photo = PhotoIntake.Photo(kind: kind, bytes: upload.takeFile(), key: key)
        let accepted = try await presence.call { try await self.submit(photo, caller) }
        let job = accepted.job
        if let used = accepted.used { users.note(used: used, of: caller.token) }
        upload.release()
        let rest = configuration.deadline - (EventLoop.now - began)
        let end = await waits.end(of: WaitTicket(token: caller.token, job: job), within: rest)
        meters.uploadDuration.observe(EventLoop.now - began)
        guard let end else {
          meters.uploads.add("pending")
          return limited(AnswerShapes.pending(job, status: "queued"), accepted, caller)
        }
        meters.uploads.add(end.isAnalysed ? "analysed" : "failed")
        return limited(
          .json(200, AnswerShapes.end(end, job, of: caller.user, imageBytes: imageBytes)), accepted, caller)
      } catch {
        let failure = failure(error)
        meters.uploads.add(failure.code.map { $0.lowercased() } ?? "status_\(failure.status)")
        throw failure
      }
    }
  }

  /// An answer with what is left of the month; of a photo that was there already as far as that is known.
  private func limited(
    _ answer: HTTPAnswer, _ accepted: PhotoIntake.Accepted, _ caller: Caller
  ) -> HTTPAnswer {
    guard let used = accepted.used else { return limited(answer, caller) }
    var answer = answer
    answer.headers += LimitHeaders.of(used: used, limit: accepted.limit)
    return answer
  }

  private func submit(
    _ photo: PhotoIntake.Photo, _ caller: Caller
  ) async throws -> PhotoIntake.Accepted {
    do {
      return try await intake.submit(photo, of: caller.user, caller.token) {
        try await users.fresh(caller.token)
      }
    } catch {
      if failure(error).status == 401 { users.forget(caller.token) }
      throw error
    }
  }

  /// What was sent, in the order in which the API's server judges it.
  private func photo(_ request: HTTPRequest) throws(APIFailure) -> (AnalysisKind, HTTPUpload) {
    guard let upload = request.upload else { throw .missingForm }
    guard upload.fileCount <= configuration.images.maxBytes else {
      throw .tooLarge(configuration.images.maxBytes)
    }
    guard !upload.hasUnknownFile, upload.files <= 1 else { throw .otherFile }
    guard upload.fileCount > 0 else { throw .missingImage }
    guard upload.isWhole else { throw .endlessForm }
    guard let type = upload.field else { throw .missingType }
    guard let kind = AnalysisKind(rawValue: String(decoding: type, as: UTF8.self)) else { throw .wrongType }
    return (kind, upload)
  }

  /// The key by which an app says that a request is a repeat; nil where there is none.
  private func idempotencyKey(_ request: HTTPRequest) throws(APIFailure) -> String? {
    guard let key = request.headers["idempotency-key"] else { return nil }
    guard (1...200).contains(key.utf8.count),
      key.utf8.allSatisfy({ (0x21...0x7E).contains($0) || $0 == 0x20 })
    else { throw .wrongKey }
    return key
  }
}

extension JobEnd {
  var isAnalysed: Bool { if case .analysed = self { true } else { false } }
}
