public import AnalysisCore

/// A user to be added.
public struct NewUser: Sendable, Equatable {
  /// What the operator calls the user; unique.
  public var reference: String
  /// The plan's name.
  public var plan: String
  /// The IANA zone in which the user's months are counted; nil for the installation's.
  public var zone: String?
  /// The user's name; kept apart from the account.
  public var name: String?
  /// The user's e-mail address; kept apart from the account.
  public var email: String?

  /// A user to be added.
  public init(
    reference: String, plan: String = "free", zone: String? = nil, name: String? = nil, email: String? = nil
  ) {
    self.reference = reference
    self.plan = plan
    self.zone = zone
    self.name = name
    self.email = email
  }
}

/// What adding a user came to.
public struct AddedUser: Sendable, Equatable {
  /// The user's number.
  public let userID: Int64
  /// The shard in which the user lives.
  public let shard: Int16
  /// Whether the user is new; if not, nothing was changed.
  public let isNew: Bool
}

/// All that is kept of a user.
public struct UserDetail: Sendable, Equatable {
  /// What the operator calls the user.
  public let reference: String
  /// The shard in which the user lives.
  public let shard: Int16
  /// The user's number.
  public let userID: Int64
  /// The zone in which the user's months are counted.
  public let zone: String
  /// The clinic whose the user is; nil for none.
  public var clinic: String?
  /// When the user was added, in seconds since 1970.
  public let createdAt: Double
  /// The plan in force; nil when there is none yet.
  public let plan: String?
  /// The plan's name for people.
  public let planDisplayName: String?
  /// The plans the user has had and will have, each with the time from which it holds (nil: from the
  /// beginning), the oldest first.
  public let planHistory: [PlanEntry]
  /// The present month.
  public let period: Period
  /// The limit of the present month; nil for none.
  public let limit: Int?
  /// Units in use in the present month.
  public let used: Int
  /// Units given back in the present month.
  public let refunded: Int
  /// Submits refused by the limit in the present month.
  public let refused: Int
  /// Jobs of the present month that have been analysed.
  public let analysed: Int
  /// Who the user is; nil when nothing is known.
  public let profile: Profile?

  /// What is left of the limit; nil when there is no limit.
  public var remaining: Int? { limit.map { max(0, $0 - used) } }
  /// Jobs of the present month that are not finished.
  public var open: Int { max(0, used - analysed) }
}

/// A plan and the time from which a user has it.
public struct PlanEntry: Sendable, Equatable {
  /// The plan's name.
  public let plan: String
  /// From when, in seconds since 1970; nil: from the beginning.
  public let from: Double?

  /// An entry with its parts.
  public init(plan: String, from: Double?) {
    self.plan = plan
    self.from = from
  }
}

/// Who a user is, as far as it is known.
public struct Profile: Sendable, Equatable {
  /// The name.
  public let name: String?
  /// The e-mail address.
  public let email: String?
  /// The subscription at the analysis backend.
  public let backendSubscription: String?
  /// The backend's own count of analyses, which may differ from ours.
  public let backendCount: Int?
  /// When the backend last reset its count, in seconds since 1970.
  public let lastReset: Double?
  /// When this was last changed, in seconds since 1970.
  public let updatedAt: Double
  /// Where the photo is: all of it may be a secret.
  public var photoURL: String?
}

/// A line of the list of users.
public struct UserSummary: Sendable, Equatable {
  /// What the operator calls the user.
  public let reference: String
  /// The zone in which the user's months are counted.
  public let zone: String
  /// The plan in force; nil when there is none yet.
  public let plan: String?
  /// The limit of the present month; nil for none.
  public let limit: Int?
  /// Units in use in the present month; pending refunds still counted.
  public let used: Int
  /// The present month.
  public let period: Period
}
