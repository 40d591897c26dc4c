@_spi(_Unicode) import Swift

extension String {
  /// The text in its composed form (NFC), in which the database keeps names: programs write one name in two forms, an e
  /// with an accent as one character or as two.
  public var composed: String {
    guard !utf8.allSatisfy({ $0 < 0x80 }) else { return self }
    var scalars = UnicodeScalarView()
    for scalar in _nfc { scalars.append(scalar) }
    return String(scalars)
  }
}
