import FoundationEssentials

/// An account to be made, with its password in clear.
public struct NewAccount: Sendable, Decodable {
  /// The address the account logs in with.
  public var email: String
  /// The password; only a keyed hash of it is kept.
  public var password: String
  /// The name shown in profiles; the address when missing.
  public var name: String?
  /// The plan; free when missing.
  public var subscription: Subscription?

  /// An account to be made; without a name it shows its address, without a plan it is free.
  public init(
    email: String, password: String, name: String? = nil, subscription: Subscription? = nil
  ) {
    self.email = email
    self.password = password
    self.name = name
    self.subscription = subscription
  }

  /// Reads a JSON list of accounts: `[{"email": …, "password": …, "name": …, "subscription": "premium"}]`.
  ///
  /// - Throws: `EndpointError` if the text is not of that form.
  public static func list(parsing json: String) throws(EndpointError) -> [NewAccount] {
    do {
      return try JSONDecoder().decode([NewAccount].self, from: Data(json.utf8))
    } catch {
      throw EndpointError(
        .unreadable, "the file of accounts is no JSON list of {\"email\": …, \"password\": …}")
    }
  }
}
