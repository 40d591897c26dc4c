/// Why bytes are not the JSON that is accepted here.
public struct JSONFailure: Error, Equatable {
  /// What is wrong.
  public enum Reason: String, Sendable {
    /// The bytes end too early.
    case unexpectedEnd = "ends too early"
    /// A character does not belong there.
    case unexpectedByte = "has a character that does not belong there"
    /// Something follows the value.
    case trailingBytes = "goes on after its end"
    /// The nesting is too deep.
    case tooDeep = "is nested too deeply"
    /// An object names a field twice.
    case duplicateName = "names a field twice"
    /// A text is not valid.
    case invalidText = "has a text that is not valid"
    /// A number is malformed or too large.
    case invalidNumber = "has a number that is malformed or too large"
  }

  /// What is wrong.
  public let reason: Reason
  /// Where, in bytes from the beginning.
  public let offset: Int
}
