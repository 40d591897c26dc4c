import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("How the SQL is written")
struct SQLFormTests {
  @Test("no line has more than 110 columns")
  func columns() throws {
    let root = packagePath("sql")
    let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".sql") }
    #expect(files.count > 80)
    for file in files {
      let text = try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
      for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        #expect(line.count <= 110, "\(file):\(index + 1)")
      }
    }
  }

  @Test("nobody looks through a list once for each element of another: two lists are joined")
  func lists() throws {
    let root = packagePath("sql/functions")
    let files = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.hasSuffix(".sql") }
    for file in files {
      let text = try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
      for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        #expect(!line.contains(/\[i\] = ANY \(/), "\(file):\(index + 1)")
      }
    }
  }

  @Test("every function that a role may call says in a comment what it does")
  func comments() async throws {
    try await withCheckedQueue { queue in
      let granted = """
        SELECT DISTINCT p.proname::text, pg_catalog.obj_description(p.oid, 'pg_proc')
          FROM pg_proc p
         CROSS JOIN LATERAL aclexplode(p.proacl) x
         WHERE p.pronamespace = 'analysis'::regnamespace AND x.grantee <> p.proowner
        """
      let rows = try await queue.pool.query(granted)
      #expect(rows.count > 90)
      for row in rows {
        let (name, comment) = (try row.string("proname"), try row.stringIfPresent("obj_description"))
        #expect(comment?.hasSuffix(".") == true, "\(name) has no comment")
      }
    }
  }
}
