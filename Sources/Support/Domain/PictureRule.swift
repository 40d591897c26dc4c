/// What a clinic is; the endpoint's back-end numbers them 1, 2 and 3 (`app_jenis`).
public enum ClinicKind: String, Sendable, CaseIterable, Decodable {
  case clinic
  case pharmacy
  /// Both in one house.
  case both

  /// Which of a clinic's two logos stands for it: that of its kind. A pharmacy has no logo as a clinic: where it has but
  /// one, that is its own, as the endpoint's back-end has one for either kind (`kl_logo`).
  public func logo<Logo>(clinic: Logo?, pharmacy: Logo?) -> Logo? {
    switch self {
    case .clinic: clinic
    case .both: clinic ?? pharmacy
    case .pharmacy: pharmacy ?? clinic
    }
  }
}

/// The picture that stands for a user.
public enum UserPicture<Photo, Logo> {
  /// The user's own photo.
  case photo(Photo)
  /// The logo of the user's clinic or pharmacy.
  case logo(Logo)
  /// A drawn placeholder with the user's initials.
  case initials(String)

  /// The rule: the user's own photo; else the logo of the user's clinic, by its kind; else the initials.
  ///
  /// - Parameters:
  ///   - photo: Nil where there is none, and where it cannot be shown.
  ///   - kind: Of the user's clinic; nil where the user is of none.
  ///   - name: The user's name, or what else the initials are to be of.
  public init(photo: Photo?, kind: ClinicKind?, logo: Logo?, pharmacyLogo: Logo?, name: String) {
    if let photo {
      self = .photo(photo)
    } else if let logo = kind?.logo(clinic: logo, pharmacy: pharmacyLogo) {
      self = .logo(logo)
    } else {
      self = .initials(Self.initials(of: name))
    }
  }

  /// At most two letters as people read them: of the first word and the last, in capitals. Scripts without capitals give
  /// one, since two of theirs may join, or be read from right to left. `?` where there is no letter or digit.
  static func initials(of name: String) -> String {
    let words = name.split { !$0.isLetter && !$0.isNumber && !isMark($0) }
    let letters = words.compactMap { word in word.first { $0.isLetter || $0.isNumber }.map(capital) }
    guard let first = letters.first else { return "?" }
    guard letters.count > 1, let last = letters.last, first.isUppercase, last.isUppercase else {
      return String(first)
    }
    return String([first, last])
  }

  /// One letter, with the marks that belong to it; without them where there are so many that they would fill a page.
  private static func capital(_ letter: Character) -> Character {
    let capital = letter.uppercased().first ?? letter
    guard capital.unicodeScalars.count > 4, let base = capital.unicodeScalars.first else { return capital }
    return Character(base)
  }

  /// What stands within a word, as the apostrophe of a name.
  private static func isMark(_ character: Character) -> Bool { "'’".contains(character) }
}

extension UserPicture: Sendable where Photo: Sendable, Logo: Sendable {}
extension UserPicture: Equatable where Photo: Equatable, Logo: Equatable {}

/// What is sent of the images of one type: the settings `image_bytes_…` and `png_as_is_…` of the database.
public struct ImageRules: Sendable, Hashable {
  /// As long as nobody changes the settings. The endpoint's API refuses 5,242,880 bytes and more.
  public static let usual = ImageRules(maxBytes: 5_242_879, keepsPNG: false)

  /// The most bytes of an image that is sent.
  public let maxBytes: Int
  /// Whether a PNG that needs nothing stays one.
  public let keepsPNG: Bool

  /// Rules with their values.
  public init(maxBytes: Int, keepsPNG: Bool) {
    self.maxBytes = maxBytes
    self.keepsPNG = keepsPNG
  }
}

/// How many bytes an image may have. The same as `analysis.max_image_bytes` in the database.
public enum ImageSize {
  /// The most bytes of a file before it is cleaned: 10 MB.
  public static let maximum = 10_000_000
  /// The most bytes of an encrypted image.
  static let encryptedMaximum = maximum + 512
}
