public import HTTPTransfer
public import Support

/// The endpoint's API: one value for each endpoint, shared by all who call it.
public struct ModelClient: Sendable {
  /// The token of the service account; nil where calls are made without one.
  let tokens: TokenProvider?
  /// The calls that make or renew a token.
  public let accounts: AccountCalls
  let transport: Transport
  let match = AnswerMatch()

  /// The endpoint.
  public var endpoint: Endpoint { transport.endpoint }

  /// A client, which calls nothing by itself.
  ///
  /// - Parameters:
  ///   - credentials: Reads the service account's credentials, at each login anew, so that a changed file is
  ///     found; nil to call without a token. What it throws is shown to operators.
  ///   - clock: Where the time comes from.
  public init(
    endpoint: Endpoint, http: HTTPClient, credentials: (@Sendable () throws -> Credentials)?,
    clock: WallClock = .system
  ) {
    transport = Transport(endpoint: endpoint, http: http, clock: clock)
    accounts = AccountCalls(transport: transport)
    tokens = credentials.map { [accounts] in TokenProvider(accounts: accounts, clock: clock, credentials: $0)
    }
  }

  /// Asks for the analysis of one image.
  ///
  /// When the token has ended, one login is made for all calls in flight and the request repeated once.
  /// - Parameters:
  ///   - image: A picture without metadata, read while it is sent.
  ///   - fileName: What it is called there, with the ending of its format.
  ///   - contentType: Its format.
  ///   - idempotencyKey: The same for each attempt of a job, so that an endpoint that knows the header counts
  ///     the job once.
  ///   - deadline: How long the whole call may take, a repetition included; by default the endpoint's.
  public func analyze(
    image: any BodyBytes, fileName: String = "image.jpg", contentType: String = "image/jpeg",
    kind: AnalysisKind, idempotencyKey: String, deadline: Duration? = nil
  ) async -> CallOutcome {
    var form = Multipart()
    form.addText("type", kind.rawValue)
    form.addFile("image", fileName: fileName, contentType: contentType, image)
    let call = AnalysisCall(
      client: self, form: form, picture: Fingerprint(image), kind: kind, idempotencyKey: idempotencyKey,
      end: transport.clock.monotonic() + (deadline ?? endpoint.deadlines.analyze))
    return await call.run()
  }
}

extension ModelClient {
  /// Whether the endpoint is up: returns when it answers with a status of 2xx, and neither with a page nor with the
  /// report of a failure.
  @discardableResult
  public func health() async throws(CallFailure) -> HealthAnswer {
    let request = Request(.get, endpoint.url(endpoint.paths.health), headers: transport.headers(nil))
    let response = try await transport.send(request, deadline: endpoint.deadlines.health)
    // It may be any text but a page; what is JSON must not report a failure.
    let text = response.body.first { !" \t\r\n".utf8.contains($0) }
    let isPage = text == UInt8(ascii: "<") || response.headers["Content-Type"]?.hasPrefix("text/html") == true
    if !(200...299).contains(response.status) || isPage || text == UInt8(ascii: "{") {
      _ = try transport.checked(response)
    }
    let now = transport.clock.now()
    let date = response.headers["Date"].flatMap { RetryAfter.date($0, now: now) }
    return HealthAnswer(
      timing: response.timing, clockAhead: date.map { now - $0 },
      certificateEnds: response.certificateEnd.flatMap(CertificateDate.seconds))
  }

  /// The service account.
  public func profile() async throws(CallFailure) -> EndpointUser {
    let value = try await authenticated(.get, endpoint.paths.profile)
    return try transport.read { () throws(DecodingFailure) in
      let fields = try AnswerFields(value, path: "")
      guard let user = fields["user"] else { throw fields.missing("user") }
      return try EndpointUser(AnswerFields(user, path: "user"))
    }
  }

  /// Changes the service account's name or address; what is nil stays.
  ///
  /// - Returns: The account after the change; nil where the answer does not describe it.
  @discardableResult
  public func updateProfile(
    name: String? = nil, email: String? = nil
  ) async throws(CallFailure) -> EndpointUser? {
    var members: [JSONValue.Member] = []
    if let name { members.append(JSONValue.Member(name: "name", value: .string(name))) }
    if let email { members.append(JSONValue.Member(name: "email", value: .string(email))) }
    return try await change(.put, endpoint.paths.updateProfile, .object(members))
  }

  /// Changes the service account's subscription.
  ///
  /// - Returns: The account after the change; nil where the answer does not describe it.
  @discardableResult
  public func updateSubscription(
    _ subscription: Subscription, paymentToken: Secret? = nil
  ) async throws(CallFailure) -> EndpointUser? {
    var members = [
      JSONValue.Member(name: endpoint.fields.subscription, value: .string(subscription.rawValue))
    ]
    if let paymentToken {
      members.append(
        JSONValue.Member(name: endpoint.fields.paymentToken, value: .string(paymentToken.reveal())))
    }
    return try await change(.post, endpoint.paths.updateSubscription, .object(members))
  }

  /// Makes a change, after which nothing in the answer can be a failure.
  private func change(
    _ method: Method, _ path: String, _ body: JSONValue
  ) async throws(CallFailure) -> EndpointUser? {
    let answer = try await authenticated(method, path, body: body)
    return (try? AnswerFields(answer, path: "")).flatMap(EndpointUser.init(in:))
  }

  /// Makes a call with the service account's token; when that has ended, once more with a new one.
  func authenticated(
    _ method: Method, _ path: String, body: JSONValue? = nil
  ) async throws(CallFailure) -> JSONPart {
    guard let tokens else { return try await transport.call(method, path, token: nil, body: body) }
    let first = try await tokens.token()
    do throws(CallFailure) {
      return try await transport.call(method, path, token: first.token, body: body)
    } catch {
      guard error.failureClass == .credentials else { throw error }
    }
    let second = try await tokens.token(after: first.generation)
    do throws(CallFailure) {
      return try await transport.call(method, path, token: second.token, body: body)
    } catch {
      if error.failureClass == .credentials { await tokens.newTokenWasRefused(second.generation) }
      throw error
    }
  }
}

/// The calls that need no token: they make or renew one. The client's own token is not touched.
public struct AccountCalls: Sendable {
  let transport: Transport

  /// Makes an account.
  public func register(email: String, password: Secret, name: String) async throws(CallFailure)
    -> Registration
  {
    let body: JSONValue = [
      "email": .string(email), "password": .string(password.reveal()), "name": .string(name),
    ]
    let answer = try await transport.call(
      .post, transport.endpoint.paths.register, token: nil, body: body, mayBeRepeated: false)
    let fields = try? AnswerFields(answer, path: "")
    return Registration(session: try? session(answer), user: fields.flatMap(EndpointUser.init(in:)))
  }

  /// Gets a token for an account.
  public func login(email: String, password: Secret) async throws(CallFailure) -> Session {
    let body: JSONValue = ["email": .string(email), "password": .string(password.reveal())]
    return try session(
      try await transport.call(
        .post, transport.endpoint.paths.login, token: nil, body: body, mayBeRepeated: true))
  }

  /// Gets a token for a refresh token, which may be good for one use only: the call is never repeated by itself.
  func refresh(_ token: Secret) async throws(CallFailure) -> Session {
    let body: JSONValue = .object([
      JSONValue.Member(name: transport.endpoint.fields.refreshToken, value: .string(token.reveal()))
    ])
    return try session(
      try await transport.call(
        .post, transport.endpoint.paths.refresh, token: nil, body: body, mayBeRepeated: false))
  }

  private func session(_ answer: JSONPart) throws(CallFailure) -> Session {
    try transport.read { () throws(DecodingFailure) in
      try Session(
        AnswerFields(answer, path: ""), transport.endpoint.fields, receivedAt: transport.clock.now())
    }
  }
}

extension ModelClient {
  /// Has the endpoint keep an analysis with the service account. A repeat makes a second one there: the
  /// endpoint gives out ids of its own.
  public func save(_ analysis: Analysis) async throws(CallFailure) -> SaveReceipt {
    let value = try await authenticated(.post, endpoint.paths.save, body: Self.saved(analysis))
    return SaveReceipt(value)
  }

  /// What the endpoint keeps with the service account; some endpoints answer the latest 20 analyses only.
  public func history() async throws(CallFailure) -> AnalysisHistory {
    let value = try await authenticated(.get, endpoint.paths.analyses)
    return try transport.read { () throws(DecodingFailure) in
      let fields = try AnswerFields(value, path: "")
      let name = endpoint.fields.analyses
      var analyses: [SavedAnalysis] = []
      for (index, element) in try fields.requiredList(name, limit: 100_000).enumerated() {
        let fields = try AnswerFields(element, path: name, at: index)
        analyses.append(try SavedAnalysis(fields, normalIDs: endpoint.normalIDs))
      }
      let status = fields.optional("subscription").flatMap { try? SubscriptionStatus($0) }
      return AnalysisHistory(analyses: analyses, subscription: status)
    }
  }

  /// Deletes one of the analyses that the endpoint keeps.
  public func delete(analysis id: String) async throws(CallFailure) {
    guard !id.isEmpty, id != ".", id != ".." else {
      throw CallFailure(.permanent, "An analysis without an id cannot be deleted.")
    }
    _ = try await authenticated(.delete, "\(endpoint.paths.analysis)/\(percentEncoded(id))")
  }

  private static func saved(_ analysis: Analysis) -> JSONValue {
    [
      "id": .string(analysis.id), "type": .string(analysis.kind.rawValue),
      "conditions": .array(analysis.conditions.map(saved)),
    ]
  }

  /// What the model did not say is left out, not sent as false or empty.
  private static func saved(_ condition: Condition) -> JSONValue {
    let fields: [(String, JSONValue?)] = [
      ("id", .string(condition.id)), ("name", .string(condition.name)),
      ("confidence", .number(condition.confidence.value)),
      ("description", condition.explanation.map { .string($0) }),
      ("symptoms", condition.symptoms.map { .array($0.map { .string($0) }) }),
      ("isPotentiallySerious", condition.isPotentiallySerious.map { .bool($0) }),
      ("recommendConsultation", condition.recommendsConsultation.map { .bool($0) }),
      ("treatmentInfo", condition.treatment.map { .string($0) }),
      ("recommendationText", condition.recommendation.map { .string($0) }),
    ]
    return .object(
      fields.compactMap { name, value in value.map { JSONValue.Member(name: name, value: $0) } })
  }
}
