/// A user's photo: where it is, which shows itself nowhere, since whoever has the address may have the photo.
public struct UserPhoto: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// What the operator calls the user.
  public let reference: String
  /// The photo's address.
  public let url: String

  /// A photo with its parts.
  public init(reference: String, url: String) {
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
