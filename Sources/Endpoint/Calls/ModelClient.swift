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
