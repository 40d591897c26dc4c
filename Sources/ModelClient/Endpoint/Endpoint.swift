internal import AnalysisCore

/// A deployment of the analysis backend: where it is and which of the API's variants it speaks.
public struct Endpoint: Sendable {
  /// The two variants that deployments are known to speak; single paths and names may still be changed.
  public enum Dialect: String, CaseIterable, Sendable {
    /// As the backend's integration guide says.
    case guide
    /// As the backend's published server does.
    case server
  }

  /// What operators call it; kept with each result.
  public var name: String
  /// `https://host[:port][/prefix]`.
  public var baseURL: String
  /// Where its calls are.
  public var paths: Paths
  /// What its fields are called.
  public var fields: Fields
  /// How long its calls may take.
  public var deadlines = Deadlines()
  /// The conditions that mean "nothing found".
  public var normalIDs = Condition.defaultNormalIDs
  /// The longest pause that an overloaded backend may ask for; a longer one is cut to this.
  public var maximumRetryAfter: Duration = .seconds(3600)

  /// An endpoint of a variant.
  public init(name: String, baseURL: String, dialect: Dialect = .server) {
    self.name = name
    self.baseURL = baseURL
    paths = Paths(dialect)
    fields = Fields(dialect)
  }

  /// The address of a path below the base.
  func url(_ path: String) -> String {
    var base = baseURL[...]
    while base.last == "/" { base.removeLast() }
    return base + (path.hasPrefix("/") ? path : "/" + path)
  }
}
