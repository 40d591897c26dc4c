internal import HTTPServing
internal import Queue
internal import Support
internal import Synchronization

extension Gateway {
  /// All that apps may ask for.
  var routes: [HTTPRoute] {
    var routes = [
      analyzeRoute,
      HTTPRoute(.get, "/api/analyses") { request in
        await self.answer(request) { caller in
          .object(try await self.history("analyses", request, caller) + self.jobs(request, caller))
        }
      },
      HTTPRoute(.get, "/api/analysis-history") { request in
        await self.answer(request) { caller in
          let subscription = AnswerShapes.subscriptionStatus(caller.user)
          return .object(
            try await self.history("history", request, caller, most: 20)
              + [.init(name: "subscription", value: subscription)] + self.jobs(request, caller))
        }
      },
      HTTPRoute(.get, "/api/analyses/*") { request in
        await self.answer(request) { caller in try await self.analysis(request, caller) }
      },
      HTTPRoute(.get, "/api/analyses/*/events") { request in
        await self.answer(request) { caller in try await self.eventsOf(request, caller) }
      },
      HTTPRoute(.delete, "/api/analyses/*") { request in
        await self.answer(request) { _ -> HTTPAnswer in
          throw APIFailure.notHere("Analyses are kept by your clinic: ask it to erase what is kept of you.")
        }
      },
      HTTPRoute(.get, "/api/health") { _ in
        await self.answered {
          guard !self.isDraining else { throw APIFailure.stopping }
          guard await self.presence.answers() else { throw APIFailure.away }
          return .json(200, ["status": "ok"])
        }
      },
      HTTPRoute("/readyz") {
        let readiness = await self.readiness()
        return .json(readiness.isReady ? 200 : 503, readiness.facts)
      },
    ]
    for path in ["/api/analyses/save", "/api/save-analysis"] {
      routes.append(posted(path, bodyUpTo: 64 << 10) { try await self.save($0, $1) })
    }
    routes += userRoutes + shareRoutes + sessionRoutes + [pictureRoute, eventsRoute]
    // Who reads is asked for a token, whatever name the server was reached by.
    return routes.map { route in
      var route = route
      route.answersAnyName = true
      return route
    }
  }

  func answer(
    _ request: HTTPRequest, _ body: @escaping @Sendable (Caller) async throws -> JSONValue
  ) async -> HTTPAnswer {
    await answer(request) { caller -> HTTPAnswer in .json(200, try await body(caller)) }
  }

  /// The job that a path names.
  func job(_ text: String?) throws(APIFailure) -> JobID {
    guard let text, text.utf8.count <= 19, text.utf8.first.map({ $0 != UInt8(ascii: "+") }) == true,
      let job = JobID(text)
    else { throw .noAnalysis }
    return job
  }

  /// One analysis, how far it is, or why it failed.
  private func analysis(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    let job = try job(request.parameters.first)
    switch try await standing(job, caller) {
    case .ended(let end): return .json(200, AnswerShapes.end(end, job, of: caller.user))
    case .open(let status): return AnswerShapes.pending(job, status: status)
    }
  }

  /// The last jobs without an analysis, for an app that asks: `jobs`, which one of the API's guide does not read.
  private func jobs(_ request: HTTPRequest, _ caller: Caller) async throws -> [JSONValue.Member] {
    guard let asked = request.query["jobs"] else { return [] }
    guard ["true", "false"].contains(asked) else { throw APIFailure(400, "jobs is true or false.") }
    guard asked == "true" else { return [] }
    let jobs = try await AppJob.statement(caller.token).run(on: database)
    return [.init(name: "jobs", value: .array(jobs.map(AnswerShapes.job)))]
  }

  private enum Standing {
    case ended(JobEnd)
    case open(String)
  }

  private func standing(_ job: JobID, _ caller: Caller) async throws -> Standing {
    if let analysis = try await analysis(job, caller) { return .ended(.analysed(analysis)) }
    guard let state = try await AppJobState.statement(caller.token, job).run(on: database) else {
      throw APIFailure.noAnalysis
    }
    if let end = state.failure { return .ended(end) }
    // It has ended since, or was erased.
    guard state.state != "succeeded" else {
      guard let analysis = try await analysis(job, caller) else { throw APIFailure.noAnalysis }
      return .ended(.analysed(analysis))
    }
    return .open(state.status)
  }

  private func analysis(_ job: JobID, _ caller: Caller) async throws -> StoredAnalysis? {
    try await recorded(caller) { try await waits.read([(caller.token, job)], caller.token.shard).first }
  }

  /// The newest analyses: `limit` of them, 50 where it is not said, before the one of the number `before`.
  private func history(
    _ name: String, _ request: HTTPRequest, _ caller: Caller, most: Int = 100
  ) async throws -> [JSONValue.Member] {
    let (before, limit) = try page(request, most: most)
    let reading = try await historyReading(
      StoredAnalysis.openingHistory(caller.token, before: before, limit: limit), caller)
    var analyses: [StoredAnalysis] = []
    if let reading {
      analyses = try await StoredAnalysis.reading(reading, [caller.token], shard: caller.token.shard)
        .run(on: database)
    }
    return [.init(name: name, value: .array(analyses.map(AnswerShapes.historyEntry)))]
  }

  /// Which part of a history is asked for.
  func page(_ request: HTTPRequest, most: Int = 100) throws(APIFailure) -> (before: JobID?, limit: Int) {
    var limit = min(50, most)
    if let text = request.query["limit"] {
      guard let number = Int(text), (1...most).contains(number) else {
        throw APIFailure(400, "limit is a number from 1 to \(most).")
      }
      limit = number
    }
    return (try request.query["before"].map { text throws(APIFailure) in try job(text) }, limit)
  }

  /// Opens a reading of a history; one that goes on after an analysis of somebody else is of none.
  func historyReading(_ opening: Statement<String?>, _ caller: Caller) async throws -> String? {
    try await recorded(caller) {
      do throws(JobQueueError) {
        return try await opening.run(on: database)
      } catch {
        guard error.code == .badRow else { throw error }
        throw APIFailure.noAnalysis
      }
    }
  }

  /// An app of the API saves what it was answered. Here all is kept from the beginning: it is answered what is kept, and
  /// nothing of what it sent but the number is read.
  private func save(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    guard let body = try? JSONReader.read(request.body), body.isObject else {
      throw APIFailure.missingBody
    }
    guard case .ended(.analysed(let analysis)) = try await standing(try job(body["id"]?.text), caller) else {
      throw APIFailure.noAnalysis
    }
    return .json(
      201,
      [
        "message": "Analysis saved successfully", "analysis": AnswerShapes.historyEntry(analysis),
        "subscription": AnswerShapes.subscriptionStatus(try await users.fresh(caller.token)),
      ])
  }

  // MARK: Events

  /// What becomes of a job, as events: `status` at the beginning, and `analysis` or `failure` at the end.
  private func eventsOf(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    let job = try job(request.parameters.first)
    // Before anything is read, and until nobody listens any more, or nobody could.
    guard let place = listeners.take(caller.key) else { throw APIFailure.manyListeners }
    let standing = try await standing(job, caller)
    // A topic of its own: what one client is sent is none of another's.
    let topic = Hexadecimal.random(bytes: 16)
    let events = events
    let following = FollowedJob()
    return .events(
      events, topic: topic,
      opened: {
        following.begin { [waits = self.waits] in
          if case .open(let status) = standing {
            let shape: JSONValue = ["id": .string(job.description), "status": .string(status)]
            events.send("status", shape.json, to: topic)
          }
          var end: JobEnd?
          if case .ended(let known) = standing { end = known }
          while end == nil, !Task.isCancelled {
            let ticket = WaitTicket(token: caller.token, job: job)
            end = await waits.end(of: ticket, within: Self.beatEvery)
            if end == nil { events.beat(topic) }
            if await waits.isOver { break }
          }
          if let end {
            let shape = AnswerShapes.end(end, job, of: caller.user)
            events.send(end.isAnalysed ? "analysis" : "failure", shape.json, to: topic)
          }
          events.end(topic)
        }
      }, closed: { withExtendedLifetime(place) { following.end() } })
  }

  private static let beatEvery: Duration = .seconds(15)
}

/// The task that follows a job for one client who listens; it ends with the client.
final class FollowedJob: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isOver = false
  }

  private let state = Mutex(State())

  init() {}

  func begin(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.task = Task { await body() }
    }
  }

  func end() {
    let task = state.withLock { state in
      state.isOver = true
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }
}
