import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Users and plans are shown")
struct UserViewTests {
  private func detail(limit: Int? = 5, profile: Profile? = nil) throws -> UserDetail {
    UserDetail(
      reference: "u1", shard: 0, userID: 9, zone: "Etc/GMT-7", createdAt: Fixed.moment, plan: "free",
      planDisplayName: "Basic", planHistory: [PlanEntry(plan: "free", from: nil)], period: try Fixed.month(),
      limit: limit, used: 3, refunded: 1, refused: 2, analysed: 2, profile: profile)
  }

  @Test("a user with a limit")
  func limited() throws {
    #expect(
      Fixed.text(try detail()) == """
        user       u1
        plan       Basic (free)
        zone       Etc/GMT-7
        month      2026-10
        limit      5
        used       3
        remaining  2
        analysed   2
        open       1
        refunded   1
        refused    2
        added      2026-10-01 00:00:00Z
        plan from  the beginning: free

        """)
    #expect(
      Fixed.json(try detail())
        == [
          #"{"user":"u1","id":"9","shard":0,"zone":"Etc/GMT-7","clinic":null,"#,
          #""created_at":"2026-10-01T00:00:00.250Z","#,
          #""plan":"free","plan_name":"Basic","month":"2026-10","anchor":null,"month_from":null,"#,
          #""next_reset":null,"next_anchor":null,"next_anchor_from":null,"limit":5,"used":3,"remaining":2,"analysed":2,"#,
          #""open":1,"refunded":1,"refused":2,"plans":[{"plan":"free","from":null}],"profile":null,"picture":null}"#,
        ].joined())
  }

  @Test("a user without one, and with a profile")
  func unlimited() throws {
    let profile = Profile(
      name: "N", email: "n@example.org", birthday: "1980-05-31", address: "Street 1", gender: "x",
      endpointSubscription: "premium", endpointCount: 4, lastReset: nil,
      updatedAt: Fixed.moment)
    let user = try detail(limit: nil, profile: profile)
    let text = Fixed.text(user)
    #expect(text.contains("limit           unlimited\nused            3\nanalysed        2\n"))
    #expect(
      text.hasSuffix(
        "name            N\ne-mail          n@example.org\nbirthday        1980-05-31\naddress         Street 1\n"
          + "gender          x\nendpoint plan   premium\nendpoint count  4\n"))
    let json = Fixed.json(user)
    #expect(json.contains(#""limit":null,"used":3,"remaining":null"#))
    #expect(
      json.hasSuffix(
        #""profile":{"name":"N","email":"n@example.org","birthday":"1980-05-31","address":"Street 1","gender":"x","#
          + #""endpoint_subscription":"premium","endpoint_count":4,"#
          + #""last_reset":null,"photo_host":null,"updated_at":"2026-10-01T00:00:00.250Z"},"picture":null}"#))
  }

  @Test("from when until when the month is, and the anchor where it is or will be another than the last day")
  func period() throws {
    var user = try detail()
    let (from, until) = (
      LocalTime(microseconds: 1_789_405_200_000_000, local: 1_789_430_400_000_000),
      LocalTime(microseconds: 1_791_997_200_000_000, local: 1_792_022_400_000_000)
    )
    user.present = UserPeriod(month: try Fixed.month(), anchor: 15, from: from, until: until, next: nil)
    #expect(
      Fixed.text(user).contains(
        """
        month      2026-10
        from       2026-09-15T00:00:00+07:00
        resets     2026-10-15T00:00:00+07:00
        anchor     15
        limit      5

        """))
    #expect(
      Fixed.json(user).contains(
        #""month":"2026-10","anchor":15,"month_from":"2026-09-15T00:00:00+07:00","#
          + #""next_reset":"2026-10-15T00:00:00+07:00","next_anchor":null,"next_anchor_from":null,"#))
    user.present = UserPeriod(
      month: try Fixed.month(), anchor: 1, from: from, until: until,
      next: .init(from: try Fixed.month(), anchor: 31))
    #expect(Fixed.text(user).contains("anchor     1, from 2026-10 on 31\n"))
    user.present = UserPeriod(month: try Fixed.month(), anchor: 1, from: from, until: until, next: nil)
    #expect(!Fixed.text(user).contains("anchor"))
  }

  @Test("an anchor that was set, and how long the first month of it is")
  func anchor() throws {
    func text(_ days: Int, isChanged: Bool = true) throws -> String {
      let start = LocalTime(microseconds: 1_790_812_800_000_000, local: 1_790_812_800_000_000)
      let end = 1_790_812_800_000_000 + Int64(days) * 86_400_000_000
      return Fixed.text(
        UsersSetPeriodResponse(
          user: "u1", anchor: 15,
          change: AnchorChange(
            from: try Fixed.month(), isChanged: isChanged, month: try Fixed.month(), start: start,
            end: LocalTime(microseconds: end, local: end))))
    }
    #expect(
      try text(14) == """
        anchor of u1: 15 from 2026-10
        2026-10 is 2026-10-01 to 2026-10-15: 14 days, which is shorter than a month

        """)
    #expect(try text(31).hasSuffix("2026-10-01 to 2026-11-01: 31 days\n"))
    #expect(try text(45).hasSuffix(": 45 days, which is longer than a month\n"))
    #expect(try text(1).hasSuffix(": 1 day, which is shorter than a month\n"))
    #expect(try text(14, isChanged: false) == "anchor of u1 is 15 already\n")
  }

  @Test("a page of users")
  func list() throws {
    let users = [
      UserSummary(
        reference: "u1", zone: "UTC", plan: "free", planName: "Basic", limit: 5, used: 5,
        period: try Fixed.month()),
      UserSummary(reference: "u2", zone: "UTC", plan: nil, limit: nil, used: 0, period: try Fixed.month()),
    ]
    let full = UsersListResponse(users: users, isFull: true)
    #expect(
      Fixed.text(full) == """
        USER  PLAN   ZONE  MONTH    USED      LIMIT
        u1    Basic  UTC   2026-10     5          5
        u2           UTC   2026-10     0  unlimited

        """)
    #expect(
      Fixed.json(full)
        == #"{"users":[{"user":"u1","plan":"free","plan_name":"Basic","zone":"UTC","month":"2026-10","limit":5,"used":5},"#
        + #"{"user":"u2","plan":null,"plan_name":null,"zone":"UTC","month":"2026-10","limit":null,"used":0}],"next":"u2"}"#
    )
    #expect(UsersListResponse(users: users, isFull: false).next == nil)
    #expect(Fixed.text(UsersListResponse(users: [], isFull: false)) == "No users.\n")
  }

  @Test("an import, in which no name or address is repeated")
  func imported() {
    let response = UsersImportResponse(lines: [
      .init(line: 1, user: "u1", outcome: .created),
      .init(
        line: 2, user: "u2", outcome: .updated([UserChange(field: "name", was: "Secret", becomes: "Secret")])),
      .init(line: 3, user: nil, outcome: .refused("It is not JSON.")),
    ])
    #expect(
      Fixed.text(response)
        == "created u1\nupdated u2\nrefused line 3: It is not JSON.\n")
    var table = response
    (table.isDry, table.isTable) = (true, true)
    #expect(
      Fixed.text(table)
        == "would create u1 (line 1)\nwould update u2 (line 2): name\nrefused line 3: It is not JSON.\n"
        + "Nothing was changed.\n")
    #expect(
      Fixed.json(response)
        == [
          #"{"profiles":[{"line":1,"user":"u1","outcome":"created","message":null,"changed":[],"not_taken":[]},"#,
          #"{"line":2,"user":"u2","outcome":"updated","message":null,"changed":["name"],"not_taken":[]},"#,
          #"{"line":3,"user":null,"outcome":"refused","message":"It is not JSON.","changed":[],"not_taken":[]}],"dry_run":false}"#,
        ].joined())
    #expect(response.exitCode == .refused)
    #expect(UsersImportResponse(lines: [response.lines[0]]).exitCode == .done)
    #expect(UsersImportResponse(lines: []).exitCode == .nothingToDo)
  }

  @Test("plans with their dated limits and prices")
  func plans() throws {
    let half = try #require(DecimalText("0.50"))
    let plans = [
      Plan(
        name: "free", displayName: "Basic", cost: 1000,
        limits: [
          Plan.Limit(from: nil, monthly: 5, isInForce: true),
          Plan.Limit(from: Fixed.moment, monthly: 2, isInForce: false),
        ],
        prices: [
          Plan.Price(from: nil, amount: half, currency: "EUR", isInForce: true),
          Plan.Price(from: "2026-12-01", amount: half, currency: "EUR", isInForce: false),
        ]),
      Plan(
        name: "premium", displayName: "Premium", cost: 1000,
        limits: [Plan.Limit(from: nil, monthly: nil, isInForce: true)], prices: []),
      Plan(name: "new", displayName: "New", cost: 10, limits: [], prices: []),
    ]
    let lines = Fixed.text(PlansResponse(plans: plans)).split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "PLAN     NAME     LIMIT A MONTH  FROM                  IN FORCE",
        "free     Basic                5  the beginning         yes",
        "free     Basic                2  2026-10-01 00:00:00Z  no",
        "premium  Premium      unlimited  the beginning         yes",
        "new      New           none yet                        ",
        "PLAN  PRICE OF ONE  FROM           IN FORCE",
        "free      0.50 EUR  the beginning  yes",
        "free      0.50 EUR  2026-12-01     no",
      ])
    #expect(
      Fixed.json(PlansResponse(plans: plans))
        == [
          #"{"plans":[{"plan":"free","name":"Basic","cost":1000,"limit":5,"unlimited":false,"limits":["#,
          #"{"from":null,"limit":5,"unlimited":false,"in_force":true},"#,
          #"{"from":"2026-10-01T00:00:00.250Z","limit":2,"unlimited":false,"in_force":false}],"prices":["#,
          #"{"from":null,"price":"0.50","currency":"EUR","in_force":true},"#,
          #"{"from":"2026-12-01","price":"0.50","currency":"EUR","in_force":false}]},"#,
          #"{"plan":"premium","name":"Premium","cost":1000,"limit":null,"unlimited":true,"limits":["#,
          #"{"from":null,"limit":null,"unlimited":true,"in_force":true}],"prices":[]},"#,
          #"{"plan":"new","name":"New","cost":10,"limit":null,"unlimited":false,"limits":[],"prices":[]}]}"#,
        ].joined())
  }
}
