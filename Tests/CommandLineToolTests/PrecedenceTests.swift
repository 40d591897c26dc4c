import Testing

@testable import CommandLineTool

@Suite("A value comes from the first source that has one")
struct PrecedenceTests {
  let file = ConfigurationValues(
    path: "/etc/shop.conf", values: ["window": "16", "plans": "free, premium", "progress": "off"])

  @Test(
    "the command line, then the environment, then the file, then the default",
    arguments: [
      ("submit -w 4 a", true, true, 4, ValueSource.commandLine),
      ("submit a", true, true, 8, .environment("SHOP_WINDOW")),
      ("submit a", false, true, 16, .configuration(path: "/etc/shop.conf", key: "window")),
      ("submit a", false, false, 64, .standard),
    ])
  func order(line: String, hasVariable: Bool, hasFile: Bool, expected: Int, source: ValueSource) throws {
    let values = try Sample.values(
      line, environment: hasVariable ? ["SHOP_WINDOW": "8"] : [:], configuration: hasFile ? file : .none)
    #expect(try values[Sample.window] == expected)
    #expect(values.source(of: Sample.window) == source)
  }

  @Test("an empty variable counts as unset")
  func emptyVariable() throws {
    let values = try Sample.values("submit a", environment: ["SHOP_WINDOW": ""], configuration: file)
    #expect(try values[Sample.window] == 16)
  }

  @Test("a list in the environment or the file is separated by commas")
  func lists() throws {
    #expect(try Sample.values("jobs list -u x", configuration: file)[Sample.plans] == [.free, .premium])
    let environment = ["SHOP_PLANS": "premium"]
    #expect(
      try Sample.values("jobs list -u x", environment: environment, configuration: file)[Sample.plans] == [
        .premium
      ])
  }

  @Test("a switch reads words for on and off")
  func switches() throws {
    #expect(try !Sample.values("submit a", configuration: file)[Sample.progress])
    #expect(
      try Sample.values("submit a", environment: ["SHOP_PROGRESS": "1"], configuration: file)[Sample.progress]
    )
    #expect(try Sample.values("submit a")[Sample.progress])
  }

  @Test("a required option may come from the environment")
  func required() throws {
    let values = try Sample.values("jobs list", environment: ["SHOP_USER": "u7"])
    #expect(try values[Sample.user] == "u7")
  }

  @Test("an absent input says so")
  func absent() throws {
    let values = try Sample.values("report")
    #expect(values.source(of: Sample.config) == .absent)
    #expect(values.source(of: Sample.month) == .absent)
    #expect(values.source(of: Sample.window) == .absent)
  }

  @Test("a tool knows every key that a configuration file may have")
  func keys() {
    #expect(Sample.root.configurationKeys == ["window", "plans", "progress"])
  }

  @Test("a wrong value names the variable or the file that it came from")
  func blame() {
    #expect(
      Sample.problem("submit a", environment: ["SHOP_WINDOW": "many"])?.description.hasPrefix(
        "--window: 'many' is not a whole number (from the environment variable SHOP_WINDOW)\n") == true)
  }
}
