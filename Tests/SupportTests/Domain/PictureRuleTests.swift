import Testing

@testable import Support

@Suite("Which picture stands for a user")
struct PictureRuleTests {
  @Test(
    "A clinic has its own logo, a pharmacy its own or else the one that there is, one that is both the clinic's first",
    arguments: [
      (ClinicKind.clinic, "c", "p", "c"), (.clinic, nil, "p", nil), (.clinic, "c", nil, "c"),
      (.pharmacy, "c", "p", "p"), (.pharmacy, "c", nil, "c"), (.pharmacy, nil, "p", "p"),
      (.both, "c", "p", "c"), (.both, nil, "p", "p"), (.both, nil, nil, nil),
    ] as [(ClinicKind, String?, String?, String?)])
  func logo(kind: ClinicKind, clinic: String?, pharmacy: String?, expected: String?) {
    #expect(kind.logo(clinic: clinic, pharmacy: pharmacy) == expected)
  }

  @Test(
    "A user has their own photo, else the logo of their clinic by its kind, else their initials",
    arguments: [
      ("photo", .clinic, "c", "p", .photo("photo")), ("photo", nil, nil, nil, .photo("photo")),
      (nil, .clinic, "c", "p", .logo("c")), (nil, .pharmacy, "c", "p", .logo("p")),
      (nil, .both, nil, "p", .logo("p")),
      (nil, .clinic, nil, "p", .initials("AF")), (nil, .pharmacy, "c", nil, .logo("c")),
      (nil, nil, "c", "p", .initials("AF")),
    ] as [(String?, ClinicKind?, String?, String?, UserPicture<String, String>)])
  func rule(
    photo: String?, kind: ClinicKind?, logo: String?, pharmacyLogo: String?,
    expected: UserPicture<String, String>
  ) {
    let picture = UserPicture(
      photo: photo, kind: kind, logo: logo, pharmacyLogo: pharmacyLogo, name: "ahmad fadil")
    #expect(picture == expected)
  }

  @Test(
    "Initials are at most two letters, one where two could join or be read the other way round",
    arguments: [
      ("ahmad fadil", "AF"), ("Anna Maria van der Berg", "AB"), ("u1", "U"), ("7 of nine", "7"), ("", "?"),
      ("  --  ", "?"), ("[Demo] APT", "DA"), ("o’brien", "O"), ("Élodie Çelik", "ÉÇ"),
      ("e\u{301}lodie", "E\u{301}"), ("ß", "S"), ("مرضى عيادة", "م"), ("דוד כהן", "ד"), ("山田 太郎", "山"),
      ("नमस्ते दुनिया", "न"), ("Ann مرضى", "A"), ("👩‍⚕️ Ann", "A"), ("\u{202E}ann", "A"), ("ǆ x", "ǄX"),
      ("a" + String(repeating: "\u{301}", count: 500), "A"),
    ])
  func initials(name: String, expected: String) {
    #expect(UserPicture<Never, Never>.initials(of: name) == expected)
  }
}
