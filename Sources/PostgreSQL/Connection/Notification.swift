/// What another session sent with NOTIFY.
public struct Notification: Sendable, Equatable {
  /// The channel's name.
  public let channel: String
  /// The text sent with it, empty for none.
  public let payload: String
  /// The sender's server process.
  public let backendPID: Int32

  /// A notification, as the server would send it.
  public init(channel: String, payload: String = "", backendPID: Int32 = 0) {
    self.channel = channel
    self.payload = payload
    self.backendPID = backendPID
  }
}
