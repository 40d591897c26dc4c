/// What a manifest may say of an image: the columns of its CSV form, the members of its JSON form.
enum ManifestColumn: String, CaseIterable, Sendable {
  case file, url, user, type, priority, at, key, expires

  /// The names as a sentence lists them.
  static let list = allCases.map(\.rawValue).joined(separator: ", ")
}
