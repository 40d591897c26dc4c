/// What a clinic or a user is billed by for a month: lines that were priced by the database, and what was analysed.
///
/// It is a value that is read in one snapshot; a writer of each format makes a document of it. Nothing in it is
/// calculated here.
public struct Bill: Sendable, Equatable, Codable {
  /// The number under which it is filed; nil for a draft.
  public var number: String?
  /// Who is billed.
  public var holder: Holder
  /// The month.
  public var month: Period
  /// Whether it may still change.
  public var state: ReportState
  /// When the month was closed, as the clocks of `zone` showed it; of a draft, when it was read.
  public var moment: LocalTime
  /// The IANA zone in which the statement is written; each line has its own.
  public var zone: String
  /// The ISO 4217 code; nil where nothing has a price.
  public var currency: String?
  /// The segments of the month: what was used under one plan at one price, in the order in which they are shown.
  public var lines: [BillLine]
  /// What changed in earlier months since they were closed.
  public var adjustments: [BillLine]
  /// The sums over lines and adjustments.
  public var total: Total
  /// The analyses that ended on each day of the month; empty where nobody may see them.
  var days: [Day]
  /// How often each condition was found, and how surely; empty where nobody may see them.
  public var conditions: [Condition]
  /// What was used of each plan's limits; empty where nothing has a plan.
  public var usage: [PlanUsage]
  /// In whose name the documents are made; nil for nobody's. It is no part of the data.
  public var brand: Brand?

  /// A statement.
  public init(
    number: String?, holder: Holder, month: Period, state: ReportState, moment: LocalTime, zone: String,
    currency: String?, lines: [BillLine], adjustments: [BillLine] = [], total: Total,
    days: [Day] = [], conditions: [Condition] = [], usage: [PlanUsage] = []
  ) {
    self.number = number
    self.holder = holder
    self.month = month
    self.state = state
    self.moment = moment
    self.zone = zone
    self.currency = currency
    self.lines = lines
    self.adjustments = adjustments
    self.total = total
    self.days = days
    self.conditions = conditions
    self.usage = usage
  }

  /// Who is billed.
  public struct Holder: Sendable, Equatable, Codable {
    /// The two kinds of holders.
    public enum Kind: String, Sendable, Codable {
      /// A clinic, for all of its users.
      case clinic
      case user
    }

    /// Which of the two it is.
    public var kind: Kind
    /// The clinic's name or the user's reference.
    public var name: String
    /// Where it is, a line each; empty where that is not known.
    var address: [String]
    /// The logo that stands for it by its kind; nil for none.
    public var logo: Logo?
    /// The name of its product; nil for none.
    public var product: String?

    /// A holder.
    public init(
      _ kind: Kind, name: String, address: [String] = [], logo: Logo? = nil, product: String? = nil
    ) {
      self.kind = kind
      self.name = name
      self.address = address
      self.logo = logo
      self.product = product
    }
  }

  /// In whose name documents are made.
  public struct Brand: Sendable, Equatable, Codable {
    /// As people read it.
    public var name: String
    /// The colour of titles and bars; nil for the usual one.
    public var accent: Accent?
    /// Who bills; nil where that is not said.
    public var issuer: Issuer?

    /// A brand.
    public init(_ name: String, accent: Accent? = nil, issuer: Issuer? = nil) {
      self.name = name
      self.accent = accent
      self.issuer = issuer
    }
  }

  /// Who bills.
  public struct Issuer: Sendable, Equatable, Codable {
    let name: String
    let address: [String]
    /// As the tax office gave it.
    let taxNumber: String?
    /// Within how many days after the month was closed it is paid; nil where that is not said.
    let paymentDays: Int?

    /// An issuer.
    public init(_ name: String, address: [String] = [], taxNumber: String? = nil, paymentDays: Int? = nil) {
      (self.name, self.address, self.taxNumber, self.paymentDays) = (name, address, taxNumber, paymentDays)
    }
  }

  /// A picture above a statement. Nothing here decodes it: each document holds it as it is.
  public struct Logo: Sendable, Equatable, Codable {
    /// A JPEG.
    public var bytes: [UInt8]
    /// In pixels.
    public var width, height: Int

    /// A picture.
    public init(_ bytes: [UInt8], width: Int, height: Int) {
      self.bytes = bytes
      self.width = width
      self.height = height
    }

    /// Its size within a box, in the box's measure, in its own proportions; never beyond twice its pixels.
    package func size(within box: (width: Double, height: Double)) -> (width: Double, height: Double) {
      let (wide, high) = (Double(width), Double(height))
      let scale = min(box.width / wide, box.height / high, 2)
      return (wide * scale, high * scale)
    }
  }

  /// The sums over lines and adjustments.
  public struct Total: Sendable, Equatable, Codable {
    /// Billable units.
    public var units: Int64
    /// Units beyond the limits.
    public var over: Int64
    /// The sum of the amounts; nil where nothing has a price.
    public var amount: DecimalText?

    /// The sums.
    public init(units: Int64, over: Int64, amount: DecimalText?) {
      self.units = units
      self.over = over
      self.amount = amount
    }
  }

  /// A day of the month.
  public struct Day: Sendable, Equatable, Codable {
    var date: CivilDate
    /// How many analyses ended on it.
    public var analyses: Int64

    /// A day.
    public init(_ date: CivilDate, analyses: Int64) {
      self.date = date
      self.analyses = analyses
    }
  }

  /// How often a condition was found, in each band of confidence; a normal one is counted without its bands.
  public struct Condition: Sendable, Equatable, Codable {
    /// The name for people.
    public var name: String
    /// The surer the endpoint was, the further to the right the band.
    var green, yellow, orange, red: Int64
    /// Whether it is the absence of a finding.
    var isNormal: Bool

    /// A condition.
    public init(
      _ name: String, green: Int64, yellow: Int64, orange: Int64, red: Int64, isNormal: Bool = false
    ) {
      self.name = name
      self.isNormal = isNormal
      self.green = green
      self.yellow = yellow
      self.orange = orange
      self.red = red
    }
  }

  /// What the users of one plan used of their limits.
  public struct PlanUsage: Sendable, Equatable, Codable {
    /// The plan's name for people.
    public var plan: String
    /// The limits of its users together; nil where there is none.
    public var limit: Int64?
    /// What they used together.
    var used: Int64
    /// How many users stayed below their limit (all, where there is none), used it up, and went beyond it.
    var under, at, over: Int64

    init(_ plan: String, limit: Int64?, used: Int64, under: Int64, at: Int64, over: Int64) {
      self.plan = plan
      self.limit = limit
      self.used = used
      self.under = under
      self.at = at
      self.over = over
    }
  }
}

/// Whether a month's usage may still change.
public enum ReportState: String, Sendable, Codable {
  /// The month is running, or its time of grace is not over, or nobody has closed it since.
  case draft
  /// The month's usage is stored as a statement and comes out the same for ever.
  case closed
}

/// A line of a statement: a segment, which is what one user used under one plan at one price; or what changed in an
/// earlier month since that was closed.
public struct BillLine: Sendable, Equatable, Codable {
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
