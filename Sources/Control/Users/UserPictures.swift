import PostgreSQL
import Queue
import Support

/// What shows who a user is: name, photo, and the logos of the clinic.
///
/// It shows itself nowhere: whoever has the photo's address may have the photo.
struct UserAppearance: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable, RenamedColumns
{
  static let columns = ["reference": "user"]

  /// What the operator calls the user.
  let reference: String
  /// The user's name.
  let name: String?
  /// Where the photo is.
  let photoURL: String?
  /// The user's clinic, and what it is.
  let clinic: String?
  /// What the clinic is.
  let kind: ClinicKind?
  /// The SHA-256 of the clinic's logos.
  let logo, pharmacyLogo: String?

  /// The picture that stands for the user: the address of the photo, or the SHA-256 of a logo.
  var picture: UserPicture<String, String> { picture(photo: photoURL) }

  /// The picture that stands for the user, where the photo is as given.
  func picture<Photo>(photo: Photo?) -> UserPicture<Photo, String> {
    UserPicture(photo: photo, kind: kind, logo: logo, pharmacyLogo: pharmacyLogo, name: name ?? reference)
  }

  /// The user alone.
  var description: String { reference }
  /// The user alone.
  var debugDescription: String { reference }
  /// Shows the user alone to `dump` and to a debugger's printing.
  var customMirror: Mirror { Mirror(self, children: ["reference": reference]) }
}

extension UserDirectory {
  /// What shows who users are, by their references; whom the login does not see is left out.
  func appearances(of users: [String]) async throws(JobQueueError) -> [String: UserAppearance] {
    let byShard = Dictionary(grouping: try await shards.shards(of: users)) { $0.value }
    let statements = byShard.map { shard, users in
      Statement(
        SQLFunction("user_pictures", 2), [.int16(shard), .array(users.map(\.key))],
        as: [UserAppearance].self, while: "reading who users are")
    }
    let found = try await database.run(statements).flatMap { $0 }
    return Dictionary(found.map { ($0.reference, $0) }) { first, _ in first }
  }
}
