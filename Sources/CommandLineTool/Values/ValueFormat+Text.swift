import Support

extension ValueFormat where Value == String {
  /// Any text but an empty one.
  public static var string: Self {
    ValueFormat(name: "TEXT", parse: notEmpty, text: { $0 })
  }

  /// Any text; an empty one stands for nothing.
  public static var any: Self {
    ValueFormat(name: "TEXT", parse: { (given: String) throws(ValueError) -> String in given }, text: { $0 })
  }

  /// A path of a file; it need not exist.
  public static var path: Self {
    ValueFormat(name: "FILE", completion: .files, parse: notEmpty, text: { $0 })
  }

  /// A path of a folder; it need not exist.
  public static var folder: Self {
    ValueFormat(name: "FOLDER", completion: .folders, parse: notEmpty, text: { $0 })
  }

  /// One of a list of words.
  public static func choice(_ words: [String]) -> Self {
    ValueFormat(
      name: words.joined(separator: "|"),
      completion: .words(words),
      parse: { (given: String) throws(ValueError) -> String in
        guard words.contains(given) else { throw wrongChoice(given, among: words) }
        return given
      },
      text: { $0 })
  }

  /// A calendar month as `YYYY-MM`.
  public static var month: Self {
    ValueFormat(
      name: "YYYY-MM",
      parse: { (given: String) throws(ValueError) -> String in
        let digits = Array(given.utf8)
        let isShaped =
          digits.count == 7 && digits[4] == UInt8(ascii: "-")
          && digits.enumerated().allSatisfy { $0.offset == 4 || (48...57).contains($0.element) }
        guard isShaped, let month = Int(given.suffix(2)), (1...12).contains(month) else {
          throw ValueError("is not a month; write it as YYYY-MM, for example 2026-10")
        }
        return given
      },
      text: { $0 })
  }

  /// A day of the calendar as `YYYY-MM-DD`.
  public static var day: Self {
    ValueFormat(
      name: "YYYY-MM-DD",
      parse: { (given: String) throws(ValueError) -> String in
        guard CivilDate(given) != nil else {
          throw ValueError("is not a day; write it as YYYY-MM-DD, for example 2026-10-01")
        }
        return given
      },
      text: { $0 })
  }

  private static func notEmpty(_ given: String) throws(ValueError) -> String {
    guard !given.isEmpty else { throw ValueError("is empty") }
    guard !given.utf8.contains(0) else { throw ValueError("holds a NUL character") }
    return given
  }
}

extension ValueFormat where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// One of the cases of an enum, by its raw value.
  public static func choice(_ type: Value.Type) -> Self {
    let words = Value.allCases.map(\.rawValue)
    return ValueFormat(
      name: words.joined(separator: "|"),
      completion: .words(words),
      parse: { (given: String) throws(ValueError) -> Value in
        guard let value = Value(rawValue: given) else { throw wrongChoice(given, among: words) }
        return value
      },
      text: { $0.rawValue })
  }
}

/// The error for a word that is not in the list, with the nearest one that is.
private func wrongChoice(_ given: String, among words: [String]) -> ValueError {
  let list = words.joined(separator: ", ")
  guard let near = nearest(to: given, among: words) else { return ValueError("is not one of \(list)") }
  return ValueError("is not one of \(list); did you mean '\(near)'?")
}
