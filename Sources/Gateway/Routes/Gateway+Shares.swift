internal import HTTPServing
internal import PostgreSQL
internal import Queue
internal import Support

extension Gateway {
  /// What a user shares with clinicians and carers, and what others share with them.
  var shareRoutes: [HTTPRoute] {
    [
      HTTPRoute(.get, "/api/shares") { request in
        await self.answer(request) { caller in
          .json(200, ["shares": .array(try await SharedCalls.list(caller.token).run(on: self.database))])
        }
      },
      posted("/api/shares", bodyUpTo: 4096) { try await self.share($0, $1) },
      posted("/api/shares/*/accept", bodyUpTo: 4096) { request, caller in
        let share = try Self.number(request)
        guard try await SharedCalls.accept(caller.token, share).run(on: self.database) else {
          throw APIFailure.noShare
        }
        return .json(200, ["message": "Share accepted"])
      },
      HTTPRoute(.delete, "/api/shares/*") { request in
        await self.answer(request) { caller in
          let share = try Self.number(request)
          guard try await SharedCalls.revoke(caller.token, share).run(on: self.database) else {
            throw APIFailure.noShare
          }
          return .json(200, ["message": "Share revoked"])
        }
      },
      HTTPRoute(.get, "/api/shared") { request in
        await self.answer(request) { caller in
          .json(200, ["shared": .array(try await SharedCalls.sharing(caller.token, on: self.database))])
        }
      },
      HTTPRoute(.get, "/api/shared/*/analyses") { request in
        await self.answer(request) { caller in
          .json(200, ["analyses": .array(try await self.sharedHistory(request, caller))])
        }
      },
    ]
  }

  /// The number of a share that a path names.
  private static func number(_ request: HTTPRequest) throws(APIFailure) -> Int64 {
    guard let number = request.parameters.first.flatMap(JobID.init) else { throw .noShare }
    return number.value
  }

  private func share(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    guard let body = try? JSONReader.read(request.body), body.isObject else {
      throw APIFailure.missingBody
    }
    let (clinician, carer) = (body["clinician"]?.text, body["carer"]?.text)
    guard body.has("clinician") != body.has("carer"), let name = clinician ?? carer, !name.isEmpty,
      !name.contains("\0")
    else {
      throw APIFailure(400, "A share names a clinician or a carer.", code: "INVALID_SHARE")
    }
    var expiresAt: Double?
    if let expires = body["expires"] {
      guard let expiry = expires.text.flatMap({ Expiry($0) }) else {
        throw APIFailure(
          400, "expires is a length of time such as 30d, a day, or a time such as 2027-01-31T00:00:00Z.",
          code: "INVALID_SHARE")
      }
      expiresAt = try await expiry.moment(database)
    }
    do throws(JobQueueError) {
      let share = try await SharedCalls.request(
        caller.token, clinician: clinician, carer: carer, expiresAt: expiresAt
      ).run(on: database)
      return .json(201, ["id": .string(String(share)), "message": "Share requested"])
    } catch {
      // In words of the database's own functions, which name nobody.
      guard error.code == .badRow else { throw error }
      throw APIFailure(
        400, "The share cannot be made.", code: "INVALID_SHARE",
        details: (error.underlying as? PostgreSQLError)?.message)
    }
  }

  private func sharedHistory(_ request: HTTPRequest, _ caller: Caller) async throws -> [JSONValue] {
    let share = try Self.number(request)
    let (before, limit) = try page(request)
    let reading = try await historyReading(
      SharedCalls.opening(caller.token, share, before: before, limit: limit), caller)
    guard let reading else {
      // Nothing to be read, or no share.
      guard try await SharedCalls.shares(caller.token, on: database).contains(share) else {
        throw APIFailure.noShare
      }
      return []
    }
    return try await SharedCalls.reading(caller.token, share, reading).run(on: database)
      .map(AnswerShapes.historyEntry)
  }
}

/// The calls of the database for shares, each with the token of who asks.
private enum SharedCalls {
  private static func caller(_ token: AppToken) -> [Parameter] { [.int16(token.shard), .bytes(token.hash)] }

  static func request(
    _ token: AppToken, clinician: String?, carer: String?, expiresAt: Double?
  ) -> Statement<Int64> {
    Statement(
      SQLFunction("gateway_share_request", 5),
      caller(token) + [.text(clinician), .text(carer), .timestamp(timestamp(expiresAt))],
      as: Int64.self, while: "requesting a share")
  }

  static func accept(_ token: AppToken, _ share: Int64) -> Statement<Bool> {
    Statement(
      SQLFunction("gateway_share_accept", 3), caller(token) + [.int64(share)], as: Bool.self,
      while: "accepting a share")
  }

  static func revoke(_ token: AppToken, _ share: Int64) -> Statement<Bool> {
    Statement(
      SQLFunction("gateway_share_revoke", 3), caller(token) + [.int64(share)], as: Bool.self,
      while: "revoking a share")
  }

  private struct OwnShare: Decodable {
    let share: Int64
    let role, user, state: String
    let clinician, carer: String?
    let requestedAt: Double
    let acceptedAt, expiresAt, revokedAt: Double?
  }

  static func list(_ token: AppToken) -> Statement<[JSONValue]> {
    Statement(
      SQLFunction("gateway_share_list", 2), caller(token), as: [OwnShare].self, while: "asking for shares"
    ) { shares in
      shares.map { share in
        [
          "id": .string(String(share.share)), "role": .string(share.role), "user": .string(share.user),
          "clinician": .text(share.clinician), "carer": .text(share.carer), "state": .string(share.state),
          "requested_at": moment(share.requestedAt), "accepted_at": moment(share.acceptedAt),
          "expires_at": moment(share.expiresAt), "revoked_at": moment(share.revokedAt),
        ]
      }
    }
  }

  private struct OthersShare: Decodable {
    let share: Int64
    let user: String
    let acceptedAt, expiresAt: Double?
  }

  private static func others(_ token: AppToken) -> Statement<[OthersShare]> {
    Statement(
      SQLFunction("gateway_shared", 2), caller(token), as: [OthersShare].self, while: "asking who shares")
  }

  static func sharing(
    _ token: AppToken, on database: ConnectionPool
  ) async throws(JobQueueError) -> [JSONValue] {
    try await others(token).run(on: database).map { share in
      [
        "id": .string(String(share.share)), "user": .string(share.user),
        "accepted_at": moment(share.acceptedAt), "expires_at": moment(share.expiresAt),
      ]
    }
  }

  static func shares(
    _ token: AppToken, on database: ConnectionPool
  ) async throws(JobQueueError) -> Set<Int64> {
    Set(try await others(token).run(on: database).map(\.share))
  }

  static func opening(
    _ token: AppToken, _ share: Int64, before: JobID?, limit: Int
  ) -> Statement<String?> {
    Statement(
      SQLFunction("gateway_open_shared", 5),
      caller(token) + [.int64(share), .int64(before?.value), .int32(Int32(clamping: limit))],
      as: String?.self, while: "recording that a shared history is read")
  }

  static func reading(_ token: AppToken, _ share: Int64, _ reading: String) -> Statement<[StoredAnalysis]> {
    Statement(
      SQLFunction("gateway_shared_results", 4), caller(token) + [.int64(share), .text(reading)],
      as: [StoredAnalysis].self, while: "reading a shared history")
  }

  private static func moment(_ seconds: Double?) -> JSONValue {
    .text(seconds.map(AnswerShapes.moment))
  }
}
