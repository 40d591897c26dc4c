/// Why bytes are not the JSON that is accepted here.
struct JSONFailure: Error, Equatable {
  /// What is wrong.
  enum Reason: String {
    case unexpectedEnd = "ends too early"
    case unexpectedByte = "has a character that does not belong there"
    case trailingBytes = "goes on after its end"
    case tooDeep = "is nested too deeply"
    case duplicateName = "names a field twice"
    case invalidText = "has a text that is not valid"
    case invalidNumber = "has a number that is malformed or too large"
  }

  let reason: Reason
  /// Where, in bytes from the beginning.
  let offset: Int
}
