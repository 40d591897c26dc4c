import Support

/// Everything but uploads: accounts, tokens, saved analyses, health and statistics.
struct AccountRoutes {
  let core: EndpointCore

  private var dialect: EndpointConfiguration.Dialect { core.configuration.dialect }

  func answer(_ exchange: Exchange) -> Answer {
    if exchange.bodyTooLarge { return .failure(413, "The request body is too large.") }
    // The real server's reader of bodies comes before its routes, and its failures are the server's.
    if dialect == .server, !exchange.body.isEmpty, !CallBody.isJSON(exchange.body) {
      return .failure(500, "Internal server error")
    }
    switch exchange.route {
    case .health: return .json(["status": "ok"])
    case .statistics: return .json(core.statistics.snapshot(of: core))
    case .register: return register(exchange.body)
    case .logIn: return logIn(exchange.body)
    case .refresh: return refresh(exchange.body)
    case .unknown, .analyze: return .failure(404, "There is nothing at this path.")
    case .page: return .page(200, "SymptomSentryAI")
    case .noPage: return .page(404, "Error")
    case .wrongMethod(let allowed):
      var answer = Answer.failure(405, "This path answers \(allowed) only.")
      answer.headers.append(("Allow", allowed))
      return answer
    case .save, .list, .delete, .profile, .updateProfile, .updateSubscription:
      guard let account = exchange.token.flatMap(core.accounts.account(ofToken:)) else {
        return .unauthorized
      }
      return authenticated(exchange, account)
    }
  }

  private func authenticated(_ exchange: Exchange, _ account: Account) -> Answer {
    switch exchange.route {
    case .save: return save(exchange.body, account)
    case .list: return list(account)
    case .delete(let id):
      return core.accounts.delete(account.id, analysis: id)
        ? .json(["message": "Analysis deleted"]) : .failure(404, "There is no such analysis.")
    case .updateProfile: return updateProfile(exchange.body, account)
    case .updateSubscription: return updateSubscription(exchange.body, account)
    default: return .json(["user": account.profile(dialect)])
    }
  }

  private func register(_ body: [UInt8]) -> Answer {
    // Whoever reaches it could make the account that is asked for.
    guard core.configuration.isLoopback else {
      return .failure(403, "No account is made for other machines.")
    }
    guard let request = CallBody.decode(CallBody.Credentials.self, body) else { return missingBody }
    let new = NewAccount(email: request.email, password: request.password, name: request.name)
    guard let account = core.accounts.register(new) else {
      return .failure(409, "An account with this address exists.")
    }
    return tokens(for: account, status: 201)
  }

  private func logIn(_ body: [UInt8]) -> Answer {
    guard let request = CallBody.decode(CallBody.Credentials.self, body) else { return missingBody }
    guard let account = core.accounts.logIn(email: request.email, password: request.password) else {
      return .failure(401, "Invalid email or password.", code: "INVALID_CREDENTIALS")
    }
    return tokens(for: account, status: 200)
  }

  private struct TokenAnswer: Encodable {
    var token: String?
    var accessToken: String?
    var refreshToken: String?
    var user: UserProfile?
    var error: Bool?
    var message: String?
    var tokenExpiration: String?
  }

  private func tokens(for account: Account, status: Int) -> Answer {
    let tokens = core.accounts.issueTokens(for: account)
    var answer = TokenAnswer(user: account.profile(dialect))
    switch dialect {
    case .guide: answer.token = tokens.access
    case .server:
      answer.message = status == 201 ? "User registered successfully" : "Login successful"
      answer.accessToken = tokens.access
      answer.refreshToken = tokens.refresh
      answer.tokenExpiration = "1h"
    }
    return .json(answer, status: status)
  }

  private func refresh(_ body: [UInt8]) -> Answer {
    guard let request = CallBody.decode(CallBody.Refresh.self, body) else { return missingBody }
    guard let tokens = core.accounts.refresh(request.refreshToken) else { return .unauthorized }
    return .json(
      TokenAnswer(accessToken: tokens.access, refreshToken: tokens.refresh, error: false))
  }

  private struct SaveAnswer: Encodable {
    let message: String
    let analysis: AccountAnalysis
    let subscription: AccountSubscriptionStatus
  }

  private func save(_ body: [UInt8], _ account: Account) -> Answer {
    guard let request = CallBody.decode(CallBody.Save.self, body) else { return missingBody }
    guard AnalysisKind(rawValue: request.type) != nil else {
      return .failure(400, "The type is neither throat nor ear.", code: "INVALID_MODEL_TYPE")
    }
    guard
      let (analysis, status) = core.accounts.save(
        account.id, type: request.type, conditions: request.conditions)
    else { return .unauthorized }
    return .json(
      SaveAnswer(message: "Analysis saved successfully", analysis: analysis, subscription: status),
      status: dialect == .guide ? 201 : 200)
  }

  private struct HistoryAnswer: Encodable {
    let history: [AccountAnalysis]
    let subscription: AccountSubscriptionStatus
  }

  private func list(_ account: Account) -> Answer {
    guard let (analyses, status) = core.accounts.saved(account.id) else { return .unauthorized }
    switch dialect {
    case .guide: return .json(["analyses": analyses])
    case .server: return .json(HistoryAnswer(history: Array(analyses.prefix(20)), subscription: status))
    }
  }

  private func updateProfile(_ body: [UInt8], _ account: Account) -> Answer {
    guard let request = CallBody.decode(CallBody.Profile.self, body) else { return missingBody }
    guard let changed = core.accounts.update(account.id, name: request.name, email: request.email) else {
      return .failure(409, "An account with this address exists.")
    }
    return .json(["user": changed.profile(dialect)])
  }

  private func updateSubscription(_ body: [UInt8], _ account: Account) -> Answer {
    guard let request = CallBody.decode(CallBody.Plan.self, body) else { return missingBody }
    guard let level = request.level(dialect) else {
      return .failure(400, "The subscription is neither free nor premium.")
    }
    guard let changed = core.accounts.update(account.id, subscription: level) else { return .unauthorized }
    return .json(["user": changed.profile(dialect)])
  }

  private var missingBody: Answer {
    .failure(400, "The request body is missing or not of the expected form.", code: "MISSING_REQUEST_BODY")
  }
}
