/// A line of a statement: a segment, which is what one user used under one plan at one price; or what changed in an
/// earlier month since that was closed.
public struct StatementLine: Sendable, Equatable, Codable {
  /// What a line is about.
  public enum Kind: String, Sendable, Codable {
    /// A part of the month itself.
    case month
    /// A change of an earlier month.
    case adjustment
  }

  /// A plan.
  public struct Plan: Sendable, Equatable, Codable {
    /// The name among programs.
    public var name: String
    /// The name for people.
    public var displayName: String

    /// A plan.
    public init(_ name: String, displayName: String) {
      self.name = name
      self.displayName = displayName
    }
  }

  /// The user's reference.
  public var user: String
  /// The month that it is of: the statement's, or the earlier one that is adjusted.
  public var month: Period
  /// What it is about.
  public var kind: Kind
  /// The user's billing zone.
  public var zone: String
  /// The first moment of the segment.
  public var from: LocalTime
  /// The first moment that is no longer of the segment.
  public var until: LocalTime
  /// The plan; nil for a user without one.
  public var plan: Plan?
  /// The plan's limit; nil where there is none, and on adjustments.
  public var limit: Int64?
  /// Billable units; negative where an adjustment gives some back.
  public var units: Int64
  /// Units beyond the limit.
  public var over: Int64
  /// The price of a unit, as PostgreSQL's numeric writes it; nil for none.
  public var price: DecimalText?
  /// What the line costs, with the currency's digits; nil where there is no price.
  public var amount: DecimalText?
  /// Why an earlier month changed; nil on lines of the month.
  public var reason: String?

  /// A line.
  public init(
    user: String, month: Period, kind: Kind, zone: String, from: LocalTime, until: LocalTime, plan: Plan?,
    limit: Int64?, units: Int64, over: Int64 = 0, price: DecimalText? = nil, amount: DecimalText? = nil,
    reason: String? = nil
  ) {
    self.user = user
    self.month = month
    self.kind = kind
    self.zone = zone
    self.from = from
    self.until = until
    self.plan = plan
    self.limit = limit
    self.units = units
    self.over = over
    self.price = price
    self.amount = amount
    self.reason = reason
  }
}
