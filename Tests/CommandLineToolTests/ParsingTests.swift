import Testing

@testable import CommandLineTool

@Suite("A command line is parsed")
struct ParsingTests {
  @Test(
    "every spelling of an option's value means the same",
    arguments: ["--window 8", "--window=8", "-w 8", "-w8", "-w=8", "-vw8", "-vw 8"])
  func spellings(spelling: String) throws {
    let values = try Sample.values("submit \(spelling) a.jpg")
    #expect(try values[Sample.window] == 8)
    #expect(try values[Sample.files] == ["a.jpg"])
    #expect(try values[Sample.verbose] == spelling.hasPrefix("-v"))
  }

  @Test("options may stand between arguments, and after -- nothing is an option")
  func terminator() throws {
    let values = try Sample.values("submit a.jpg -v b.jpg -- --window -v")
    #expect(try values[Sample.files] == ["a.jpg", "b.jpg", "--window", "-v"])
    #expect(try values[Sample.verbose])
    #expect(try values[Sample.window] == 64)
  }

  @Test(
    "a parent's option is taken before and after the subcommand", arguments: ["-v submit a", "submit -v a"])
  func inherited(line: String) throws {
    #expect(try Sample.values(line)[Sample.verbose])
  }

  @Test("a negative number is a value, not an option", arguments: ["--offset -5", "--offset=-5"])
  func negative(spelling: String) throws {
    #expect(try Sample.values("jobs list -u x \(spelling)")[Sample.offset] == -5)
  }

  @Test("a lone dash is an argument: standard input")
  func dash() throws {
    #expect(try Sample.values("submit -")[Sample.files] == ["-"])
  }

  @Test("the last of a switch and its opposite wins")
  func inverted() throws {
    #expect(try !Sample.values("submit --no-progress a")[Sample.progress])
    #expect(try Sample.values("submit --no-progress --progress a")[Sample.progress])
  }

  @Test("an optional argument may be absent")
  func optionalArgument() throws {
    #expect(try Sample.values("report")[Sample.month] == nil)
    #expect(try Sample.values("report 2026-10")[Sample.month] == "2026-10")
  }

  @Test("a repeated option collects its values in order")
  func repeating() throws {
    #expect(
      try Sample.values("jobs list -u x --plan premium --plan free")[Sample.plans] == [.premium, .free])
  }

  @Test("a value that looks like a subcommand stays a value")
  func valueLikeSubcommand() throws {
    let values = try Sample.values("--config jobs submit a")
    #expect(try values[Sample.config] == "jobs")
  }

  @Test("an input that the command does not define is an error, not a crash")
  func undefined() throws {
    let values = try Sample.values("report")
    #expect(throws: UsageError(.undefinedInput("--window"), path: ["shop", "report"])) {
      try values[Sample.window]
    }
  }

  @Test("the sample's definition is free of contradictions, and one with them is found out")
  func audit() {
    #expect(Sample.root.definitionFaults == [])
    let broken = Command(
      "broken", abstract: "",
      inputs: [Flag("x", short: "a", help: ""), Flag("x", short: "a", help: ""), Sample.id],
      subcommands: [Command("empty", abstract: "")])
    #expect(
      broken.definitionFaults == [
        "broken: --x is defined twice", "broken: -a is defined twice",
        "broken: has both arguments and subcommands",
        "broken empty: --x is defined twice", "broken empty: -a is defined twice",
        "broken empty: has nothing to run",
      ])
  }
}
