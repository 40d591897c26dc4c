import HTTPServing
import Queue
import Support

/// The small pictures that stand for users and clinics. The rule is `UserPicture`; nothing is fetched for it.
enum PictureFiles {
  /// A user's photo, or what stands for the user where it is not at hand.
  static let user = "/usage/user-picture"
  /// A clinic's logo.
  static let logo = "/usage/logo"

  static let userRoles: [DatabaseRole] = [.administrator]
  static let logoRoles: [DatabaseRole] = [.administrator, .auditor]

  /// The picture of a user for whom a photo is known.
  static func answerUser(_ request: HTTPRequest, _ context: DashboardContext) async throws -> HTTPAnswer {
    guard let user = request.query["user"] else { throw PageFailure.invalid("No user is named.") }
    let appearance = try await UserDirectory(context.database).appearances(of: [user])[user]
    guard let appearance else {
      throw PageFailure.missing("There is no such user, or none that this login sees.")
    }
    let photo = if let url = appearance.photoURL { await context.photo(url) } else { nil as [UInt8]? }
    switch appearance.picture(photo: photo) {
    case .photo(let bytes): return .picture(bytes)
    case .logo(let sha256): return try await logo(sha256, context)
    case .initials(let initials):
      return .picture(Array(HTML.disc(of: initials).markup.utf8), "image/svg+xml")
    }
  }

  /// A logo by its hash.
  static func answerLogo(_ request: HTTPRequest, _ context: DashboardContext) async throws -> HTTPAnswer {
    try await logo(request.query["sha256"] ?? "", context)
  }

  private static func logo(_ sha256: String, _ context: DashboardContext) async throws -> HTTPAnswer {
    guard let bytes = try await ClinicDirectory(context.database).logo(sha256) else {
      throw PageFailure.missing("There is no such logo.")
    }
    return .picture(bytes)
  }
}

extension HTML {
  /// The picture of a user, before the user's name. A photo is asked for by itself, since it may not be at hand.
  static func picture(of user: UserAppearance) -> HTML {
    switch user.picture {
    case .photo: .picture(at: address(PictureFiles.user, [("user", user.reference)]))
    case .logo(let sha256): .logo(sha256)
    case .initials(let initials): .disc(of: initials)
    }
  }

  /// A clinic's logo, before the clinic's name.
  static func logo(_ sha256: String) -> HTML {
    .picture(at: address(PictureFiles.logo, [("sha256", sha256)]))
  }

  private static func picture(at address: String) -> HTML {
    "<img class=\"person\" src=\"\(address)\" alt=\"\" width=\"24\" height=\"24\" loading=\"lazy\">"
  }
}

extension HTTPAnswer {
  /// A picture, which a page of ours alone may show.
  static func picture(_ bytes: [UInt8], _ type: String = "image/jpeg") -> HTTPAnswer {
    var answer = HTTPAnswer(contentType: type, body: bytes)
    answer.headers = [("Cross-Origin-Resource-Policy", "same-origin"), ("Content-Disposition", "inline")]
    return answer
  }
}
