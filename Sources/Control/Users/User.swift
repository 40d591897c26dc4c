public import PostgreSQL
import Queue
public import Support

/// A user to be added.
public struct NewUser: Sendable, Equatable {
  /// What the operator calls the user; unique.
  public var reference: String
  /// The plan's name.
  public var plan: String
  /// The IANA zone in which the user's months are counted; nil for the installation's.
  public var zone: String?
  /// The day of the month on which the user's periods end; nil for calendar months.
  var anchor: Int?
  /// The user's name; kept apart from the reference.
  public var name: String?
  /// The user's e-mail address; kept apart from the reference.
  var email: String?

  /// A user to be added.
  public init(
    reference: String, plan: String = "free", zone: String? = nil, anchor: Int? = nil, name: String? = nil,
    email: String? = nil
  ) {
    self.reference = reference
    self.plan = plan
    self.zone = zone
    self.anchor = anchor
    self.name = name
    self.email = email
  }
}

/// What adding a user came to.
public struct AddedUser: Sendable, Equatable, RenamedColumns {
  /// It says what was done.
  public static let columns = ["isNew": "created"]

  /// The user's number.
  public let userID: Int64
  /// The shard in which the user lives.
  public let shard: Int16
  /// Whether the user is new; if not, nothing was changed.
  let isNew: Bool
}

/// All that is kept of a user.
struct UserDetail: Sendable, Equatable, RenamedColumns {
  static let columns = ["planDisplayName": "planName"]

  /// What the operator calls the user.
  let reference: String
  /// The shard in which the user lives.
  let shard: Int16
  let userID: Int64
  /// The zone in which the user's months are counted.
  let zone: String
  /// The clinic whose the user is; nil for none.
  var clinic: String?
  /// When the user was added, in seconds since 1970.
  let createdAt: Double
  /// The plan in force; nil when there is none yet.
  let plan: String?
  /// The plan's name for people.
  let planDisplayName: String?
  /// The plans the user has had and will have, each with the time from which it holds (nil: from the
  /// beginning), the oldest first.
  var planHistory: [PlanEntry]
  let period: Period
  /// From when until when the present month is; nil where it was not asked for.
  var present: UserPeriod?
  /// The limit of the present month; nil for none.
  let limit: Int?
  /// Units in use in the present month.
  let used: Int
  /// Units refunded in the present month.
  let refunded: Int
  /// Submits refused by the limit in the present month.
  let refused: Int
  /// Jobs of the present month that have been analysed.
  let analysed: Int
  /// Who the user is; nil when nothing is known.
  var profile: Profile?
  /// By which the picture that stands for the user is found; nil where it was not asked for.
  var appearance: UserAppearance?

  /// What is left of the limit; nil when there is no limit.
  var remaining: Int? { limit.map { max(0, $0 - used) } }
  /// Jobs of the present month that are not finished.
  var open: Int { max(0, used - analysed) }
}

/// A plan and the time from which a user has it.
struct PlanEntry: Sendable, Equatable, Decodable {
  let plan: String
  /// From when, in seconds since 1970; nil: from the beginning.
  let from: Double?
}

/// Who a user is, as far as it is known.
struct Profile: Sendable, Equatable, RenamedColumns {
  static let columns = ["endpointSubscription": "subscription", "endpointCount": "count"]

  let name: String?
  let email: String?
  /// The day of birth, as `1980-05-31`.
  var birthday: String?
  var address: String?
  /// The gender, in a word of the person's own choosing; nil: not stated.
  var gender: String?
  /// The subscription at the endpoint.
  let endpointSubscription: String?
  /// The endpoint's own count of analyses, which may differ from ours.
  let endpointCount: Int?
  /// When the endpoint last reset its count, in seconds since 1970.
  let lastReset: Double?
  /// When this was last changed, in seconds since 1970.
  let updatedAt: Double
  /// Where the photo is: all of it may be a secret.
  var photoURL: String?
}

/// A line of the list of users.
public struct UserSummary: Sendable, Equatable, RenamedColumns {
  /// It is called a user there.
  public static let columns = ["reference": "user"]

  /// What the operator calls the user.
  public let reference: String
  /// The zone in which the user's months are counted.
  public let zone: String
  /// The plan in force; nil when there is none yet.
  public let plan: String?
  /// The plan's name for people; nil where it is not known.
  var planName: String?
  /// The limit of the present month; nil for none.
  public let limit: Int?
  /// Units in use in the present month; pending refunds still counted.
  let used: Int
  /// The present month.
  public let period: Period
}

/// A user's photo: where it is, which shows itself nowhere, since whoever has the address may have the photo.
struct UserPhoto: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable, RenamedColumns
{
  /// It is called a user there.
  public static let columns = ["reference": "user"]

  /// What the operator calls the user.
  public let reference: String
  /// The photo's address.
  public let url: String

  /// A photo with its parts.
  init(reference: String, url: String) {
    self.reference = reference
    self.url = url
  }

  /// The user alone.
  public var description: String { reference }
  /// The user alone.
  public var debugDescription: String { reference }
  /// Shows the user alone to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: ["reference": reference]) }
}
