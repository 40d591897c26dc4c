import Csodium
import Support
import Synchronization

/// The accounts, in memory, with their tokens.
final class AccountDirectory: Sendable {
  private struct RefreshToken {
    let account: String
    let expires: Double
  }

  private struct State {
    var accounts: [String: Account] = [:]
    var identifiers: [String: String] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var nextAccount = 1
    var nextAnalysis = 1
    var logins = 0
    var refreshes = 0
  }

  /// Access and refresh token of one log-in.
  struct Tokens: Sendable {
    let access: String
    let refresh: String
  }

  private let state = Mutex(State())
  private let mint = TokenMint()
  private let passwordKey = Randomness.bytes(Int(crypto_generichash_KEYBYTES))
  private let clock: EndpointClock
  private let tokenLifetime: Double
  private let refreshLifetime: Double
  /// Analyses a month of a free account; nil is no limit.
  private let limit: Int?
  private let dialect: EndpointConfiguration.Dialect

  init(configuration: EndpointConfiguration, clock: EndpointClock) throws(EndpointError) {
    self.clock = clock
    tokenLifetime = configuration.tokenLifetime.inSeconds
    refreshLifetime = configuration.refreshLifetime.inSeconds
    limit = configuration.limitPerUser
    dialect = configuration.dialect
    for account in configuration.accounts where register(account) == nil {
      throw EndpointError(.configuration, "two accounts are given with the same address; give each once")
    }
  }

  /// Makes an account; nil if its address is taken.
  func register(_ new: NewAccount) -> Account? {
    let now = clock.now
    let hash = passwordHash(new.password)
    return state.withLock { state in
      let address = Self.canonical(new.email)
      guard state.identifiers[address] == nil else { return nil }
      let account = Account(
        id: "user-\(state.nextAccount)", email: new.email, name: new.name ?? new.email,
        subscription: new.subscription ?? .free, lastReset: now, passwordHash: hash)
      state.nextAccount += 1
      state.identifiers[address] = account.id
      state.accounts[account.id] = account
      return account
    }
  }

  /// The account of an address and password, or nil.
  func logIn(email: String, password: String) -> Account? {
    let hash = passwordHash(password)
    return state.withLock { state in
      guard let id = state.identifiers[Self.canonical(email)], let account = state.accounts[id],
        sodium_memcmp(account.passwordHash, hash, hash.count) == 0
      else { return nil }
      state.logins += 1
      return account
    }
  }

  /// New tokens for an account.
  func issueTokens(for account: Account) -> Tokens {
    let now = clock.now
    let refresh = Randomness.hex(32)
    let expires = now + refreshLifetime
    state.withLock { $0.refreshTokens[refresh] = RefreshToken(account: account.id, expires: expires) }
    return Tokens(
      access: mint.issue(account: account.id, now: now, lifetime: tokenLifetime), refresh: refresh)
  }

  /// Exchanges a refresh token, once, for new tokens; nil if it is unknown, used or expired.
  func refresh(_ token: String) -> Tokens? {
    let now = clock.now
    let account: Account? = state.withLock { state in
      guard let known = state.refreshTokens.removeValue(forKey: token), now < known.expires else {
        return nil
      }
      state.refreshes += 1
      return state.accounts[known.account]
    }
    return account.map(issueTokens(for:))
  }

  /// The account of a valid access token, or nil.
  func account(ofToken token: String) -> Account? {
    guard let claims = mint.check(token, now: clock.now) else { return nil }
    return state.withLock { $0.accounts[claims.sub] }
  }

  /// Counts one analysis of an account; nil if its month is full.
  func takeAnalysis(_ id: String) -> Account? {
    change(id) { [limit] account in
      if account.subscription == .free, let limit, account.analysisCount >= limit { return nil }
      account.analysisCount += 1
      return account
    }
  }

  /// Stores an analysis under an id of the server's own.
  func save(_ id: String, type: String, conditions: JSONValue) -> (
    AccountAnalysis, AccountSubscriptionStatus
  )? {
    let createdAt = dialect.moment(clock.now)
    let number = state.withLock { state in
      state.nextAnalysis += 1
      return state.nextAnalysis - 1
    }
    let saved = AccountAnalysis(
      id: "saved-\(number)", type: type, conditions: conditions, createdAt: createdAt,
      timestamp: dialect == .guide ? createdAt : nil)
    return change(id) { [limit, dialect] account in
      account.saved.append(saved)
      return (saved, account.status(limit: limit, dialect))
    }
  }

  /// The analyses that an account has saved, the latest first, and what they leave of the month.
  func saved(_ id: String) -> ([AccountAnalysis], AccountSubscriptionStatus)? {
    change(id) { [limit, dialect] account in (account.saved.reversed(), account.status(limit: limit, dialect))
    }
  }

  /// Removes a saved analysis; false if the account has none of that id.
  func delete(_ id: String, analysis: String) -> Bool {
    change(id) { account -> Bool? in
      let before = account.saved.count
      account.saved.removeAll { $0.id == analysis }
      return account.saved.count < before
    } ?? false
  }

  /// Changes name, address or plan; nil if the address belongs to another account.
  func update(
    _ id: String, name: String? = nil, email: String? = nil, subscription: AccountSubscription? = nil
  ) -> Account? {
    state.withLock { state in
      guard var account = state.accounts[id] else { return nil }
      if let email {
        let address = Self.canonical(email)
        if let owner = state.identifiers[address], owner != id { return nil }
        state.identifiers[Self.canonical(account.email)] = nil
        state.identifiers[address] = id
        account.email = email
      }
      if let name { account.name = name }
      if let subscription { account.subscription = subscription }
      state.accounts[id] = account
      return account
    }
  }

  /// Numbers of accounts, log-ins and refreshes so far.
  var summary: (accounts: Int, logins: Int, refreshes: Int) {
    state.withLock { ($0.accounts.count, $0.logins, $0.refreshes) }
  }

  private func change<Result: Sendable>(
    _ id: String, _ body: @Sendable (inout Account) -> Result?
  ) -> Result? {
    let now = clock.now
    return state.withLock { state in
      guard var account = state.accounts.removeValue(forKey: id) else { return nil }
      account.resetIfMonthChanged(now: now)
      let result = body(&account)
      state.accounts[id] = account
      return result
    }
  }

  private static func canonical(_ email: String) -> String { email.lowercased() }

  private func passwordHash(_ password: String) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_generichash_BYTES))
    let text = Array(password.utf8)
    crypto_generichash(&hash, hash.count, text, UInt64(text.count), passwordKey, passwordKey.count)
    return hash
  }
}
