internal import HTTPServing
public import Images
public import PostgreSQL
public import Queue

/// Everything the gateway can be told before it starts.
public struct GatewayConfiguration: Sendable {
  /// Where the queue is.
  public var database: ConnectionConfiguration
  /// Connections to it, beside the one that listens.
  public var connections = 8
  /// How long an app waits for its analysis before it is given an address to ask at.
  public var deadline: Duration = .seconds(25)
  /// How long what was accepted may take when the gateway is stopped.
  public var grace: Duration = .seconds(30)
  /// Photos that a user may send at once, and then as many evenly over each minute; nil for as many as they like. A
  /// question counts a tenth of one.
  public var uploadsEachMinute: Int? = 60
  /// How many times a user may read what was found, at once and then evenly over each minute: each is an entry of the
  /// audit, of which the login may make 6000 in a minute for all users.
  var readingsEachMinute = 60
  /// Photos that are taken.
  public var images = ImageLimits()
  /// Bytes of photos in memory at most, as they come in and until they are stored.
  public var photoMemory = 256 << 20
  /// Under what photos are encrypted; nil to leave them in plaintext.
  public var keys: KeyRing?
  /// The object store in which images are, where there are any; the gateway closes it.
  public var imageStore: ImageStore?
  /// Whether ends of jobs are listened for on a connection of its own.
  public var listens = true
  /// How fast an app has to send.
  var leastPace = HTTPDaemon.LeastPace()
  /// Connections of apps at once.
  public var clients = 1000
  /// The other sites whose pages may ask (CORS), as browsers name them.
  public var origins: [String] = []
  /// For how long it is remembered whose a token is. A token that was revoked submits and reads nothing in that time
  /// either: the database is asked anew by each call that does.
  var userLife: Duration = .seconds(10)
  /// How often the ends of jobs are asked for while somebody waits, where none is heard.
  var lookEvery: Duration = .milliseconds(25)
  /// How often it is asked at most what has happened to those whose apps listen, where no end of a job is heard.
  var eventsEvery: Duration = .seconds(1)

  /// The usual settings for a queue.
  public init(database: ConnectionConfiguration) {
    self.database = database
  }
}
