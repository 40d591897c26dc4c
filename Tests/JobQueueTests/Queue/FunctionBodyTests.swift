import Testing

@testable import JobQueue

@Suite("Functions as their groups define them")
struct FunctionBodyTests {
  @Test("are found with what stands between their quotes, whatever comes between")
  func parsed() {
    let text = """
      -- A comment.
      CREATE OR REPLACE FUNCTION analysis.one(p int) RETURNS int
      LANGUAGE sql AS $$ SELECT p $$;
      CREATE OR REPLACE VIEW analysis.v AS SELECT 1;
      DO $$ BEGIN END $$;
      CREATE OR REPLACE FUNCTION analysis.two() RETURNS void
      LANGUAGE plpgsql AS $$
      BEGIN
      END $$;
      """
    #expect(
      FunctionBody.parse(text) == [
        FunctionBody(name: "one", body: " SELECT p "), FunctionBody(name: "two", body: "\nBEGIN\nEND "),
      ])
  }

  @Test("every group of this program is read whole")
  func embedded() {
    for group in MigrationSource.embedded.functions {
      let heads = group.text.split(separator: "\n").count {
        $0.hasPrefix("CREATE OR REPLACE FUNCTION analysis.")
      }
      #expect(FunctionBody.parse(group.text).count == heads, "\(group.name)")
    }
  }
}
