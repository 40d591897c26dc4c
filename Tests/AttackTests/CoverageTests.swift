import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Everything that can be attacked is attacked")
struct CoverageTests {
  @Test("Every function that a role may call is tried by a login that has the role")
  func functions() async throws {
    try await withQueue { queue in
      let rows = try await queue.pool.query(
        "SELECT r.o_role, f FROM analysis.role_rights() r CROSS JOIN LATERAL unnest(r.o_functions) f")
      let callers = try Dictionary(grouping: rows.map { (try $0.string(0), try $0.string(1)) }, by: \.1)
        .mapValues { Set($0.map(\.0)) }
      #expect(callers.count > 100)
      for (function, roles) in callers.sorted(by: { $0.key < $1.key }) {
        #expect(
          SQLAttack.all.contains { $0.aims.contains(function) && $0.by.role.map(roles.contains) == true },
          "no entry in the table abuses \(function), which \(roles.sorted()) may call")
      }
    }
  }

  @Test("Every table and every view is tried")
  func relations() async throws {
    try await withQueue { queue in
      let relations = try await queue.texts(
        """
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'analysis'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition
        """)
      let aims = SQLAttack.all.reduce(into: Set<String>()) { $0.formUnion($1.aims) }
      #expect(relations.filter { !aims.contains($0) } == [])
    }
  }

  @Test("The tables have more than 120 attacks, no two the same, by every login")
  func count() {
    let attacks = SQLAttack.all.map { "\($0.by) \($0.sql)" }
    #expect(Set(attacks).count == attacks.count)
    #expect(Set(SQLAttack.all.map(\.by)) == Set(Attacker.allCases))
    // What every login tries in turn counts once.
    let count =
      Set(SQLAttack.all.map(\.sql)).count + AnswerAttack.all.count + AddressAttackTests.attacks.count
      + RouteAttack.all.count + MonitoringAttack.all.count + DashboardAttack.onLoopback.count
      + DashboardAttack.withoutToken.count + DashboardAttack.onLogIn.count + GatewayAttack.all.count
      + PictureAttack.all.count
      + KeptEndTamperingTests.tamperings.count
    #expect(count >= 120, "\(count)")
  }
}
