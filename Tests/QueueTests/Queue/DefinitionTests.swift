import Testing

@testable import Queue

@Suite("Functions and triggers as this program's SQL defines them")
struct DefinitionTests {
  @Test("functions are found with their body and settings, as the last text defines them")
  func functions() {
    var found: [FunctionDefinition] = []
    FunctionDefinition.apply(
      """
      -- A comment.
      CREATE FUNCTION analysis.one(p int) RETURNS int
      LANGUAGE sql AS $$ SELECT p $$;
      DO $$ BEGIN END $$;
      CREATE FUNCTION analysis.gone() RETURNS void LANGUAGE sql AS $$ $$;
      """, to: &found)
    FunctionDefinition.apply(
      """
      DROP FUNCTION IF EXISTS analysis.gone();
      CREATE OR REPLACE FUNCTION analysis.one(p int) RETURNS int
      LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$ SELECT -p $$;
      CREATE OR REPLACE FUNCTION analysis.two(
        p_one numeric(3, 1), p_two text, OUT o int) RETURNS TABLE (o int, q int)
      LANGUAGE plpgsql AS $$
      BEGIN
      END $$;
      """, to: &found)
    #expect(
      found == [
        FunctionDefinition(
          name: "one", parameters: 1, body: " SELECT -p ", hasOwnersRights: true,
          settings: ["search_path=pg_catalog, pg_temp", "lock_timeout=2s"]),
        FunctionDefinition(
          name: "two", parameters: 2, body: "\nBEGIN\nEND ", hasOwnersRights: false, settings: []),
      ])
  }

  @Test("triggers are found as the server writes them, whatever the order of their events")
  func triggers() {
    var found: [TriggerDefinition] = []
    TriggerDefinition.apply(
      """
      CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON analysis.one
        FOR EACH ROW EXECUTE FUNCTION analysis.f();
      CREATE TRIGGER gone BEFORE DELETE ON analysis.one FOR EACH ROW EXECUTE FUNCTION analysis.f();
      DROP TRIGGER gone ON analysis.one;
      """, to: &found)
    let text =
      "CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON analysis.one FOR EACH ROW EXECUTE FUNCTION analysis.f()"
    #expect(found == [TriggerDefinition(text)])
  }

  @Test("every function of this program is read")
  func embedded() {
    let source = MigrationSource.embedded
    for text in source.migrations.map(\.text) + source.functions.map(\.text) {
      var found: [FunctionDefinition] = []
      FunctionDefinition.apply(text, to: &found)
      let heads = text.split(separator: "\n").compactMap { line in
        [
          "CREATE OR REPLACE FUNCTION analysis.", "CREATE FUNCTION analysis.",
          "CREATE OR REPLACE PROCEDURE analysis.",
        ].first { line.hasPrefix($0) }
          .map { line.dropFirst($0.count).prefix { $0 != "(" } }
      }
      #expect(Set(found.map(\.name)) == Set(heads.map(String.init)))
    }
  }
}
