import QueueTestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("Settings are shown and changed")
struct SettingsTests {
  @Test("All are listed with what they mean, and those that were changed stand beside their default")
  func list() async throws {
    try await withQueue { queue async throws in
      let ran = await queue.control("settings")
      #expect(ran.code == .done)
      #expect(ran.lines.contains { $0.hasPrefix("keep_usage ") && $0.contains("for ever") })
      #expect(ran.lines.contains { $0.hasPrefix("max_database_bytes ") && $0.contains("no limit") })
      #expect(await queue.control("settings", "set", "zone", "Asia/Jakarta", "--yes").code == .done)
      let json = await queue.control("settings", "list", "--json")
      #expect(
        json.output.contains(#"{"name":"zone","value":"Asia/Jakarta","default":"UTC","empty_means":null,"#))
    }
  }

  @Test("A change is shown, asked for and made; what it leads to is said")
  func asked() async throws {
    try await withQueue { queue async throws in
      var control = queue.control
      control.typed = "y"
      let ran = await control("settings", "set", "keep_images", "90 days")
      #expect(ran.code == .done)
      #expect(
        ran.messages == """
          keep_images: would change from 30 days to 90 days
          What is older is removed by the next purge; analysisctl purge --dry-run shows what that is.
          Change it? [y/N]\u{20}
          """)
      #expect(
        ran.output == """
          keep_images: changed from 30 days to 90 days
          What is older is removed by the next purge; analysisctl purge --dry-run shows what that is.

          """)
    }
  }

  @Test("A number of bytes may have a unit, and what 0 leads to is said")
  func bytes() async throws {
    try await withQueue { queue async throws in
      let sized = await queue.control("settings", "set", "max_database_bytes", "45MB", "--yes")
      #expect(sized.output == "max_database_bytes: changed from no limit to 45000000\n")
      let none = await queue.control("settings", "set", "max_database_bytes", "0", "--dry-run")
      #expect(none.lines.last == "With 0 no new job is taken at all. '' stands for no limit.")
    }
  }

  @Test("Nothing is changed without a yes", arguments: [nil, "", "n", "maybe"])
  func notConfirmed(typed: String?) async throws {
    try await withQueue { queue async throws in
      var control = queue.control
      control.typed = typed
      let ran = await control("settings", "set", "keep_images", "")
      #expect(ran.code == (typed == nil ? .usage : .refused))
      #expect(ran.output == "")
      #expect(ran.messages.contains(typed == nil ? "Give --yes" : "Nothing was changed"))
      #expect(
        try await queue.texts("SELECT value FROM analysis.setting WHERE name = 'keep_images'") == [
          "30 days"
        ])
    }
  }

  @Test("A rehearsal changes nothing and asks nothing, and a value that is there already is nothing to do")
  func rehearsal() async throws {
    try await withQueue { queue async throws in
      let dry = await queue.control("settings", "set", "keep_usage", "10 years", "--dry-run")
      #expect(dry.code == .done)
      #expect(dry.lines.first == "keep_usage: would change from for ever to 10 years")
      let same = await queue.control("settings", "set", "keep_usage", "", "--yes")
      #expect(same.code == .nothingToDo)
      #expect(same.output == "keep_usage: is for ever already\n")
    }
  }

  @Test(
    "A name or a value that cannot be is refused with the rule",
    arguments: [
      ("keep_image", "1 day", "There is no setting keep_image.\nIs keep_images meant?"),
      ("colour", "blue", "There is no setting colour.\nSee which there are with analysisctl settings."),
      ("keep_images", "for ever", "keep_images is a time from 1 hour to 100 years, for instance 30 days"),
      ("zone", "Mars/Phobos", "zone is an IANA time zone"),
      ("shards", "0", "shards is a number from 1 to 1024"),
    ])
  func refused(name: String, value: String, message: String) async throws {
    try await withQueue { queue async throws in
      let ran = await queue.control("settings", "set", name, value, "--yes")
      #expect(ran.code == .refused)
      #expect(ran.messages.contains(message), "\(ran.messages)")
    }
  }
}
