import Testing

@testable import CommandLineTool

@Suite("Help is printed")
struct HelpTests {
  @Test(
    "help is asked for in many ways",
    arguments: [
      ("--help", "shop"), ("-h", "shop"), ("help", "shop"), ("help jobs", "shop jobs"),
      ("jobs --help", "shop jobs"),
      ("jobs help list", "shop jobs list"), ("help jobs list", "shop jobs list"),
      ("jobs list -h", "shop jobs list"),
      ("--help jobs list", "shop jobs list"), ("jobs list --help --user", "shop jobs list"),
      ("submit a -h", "shop submit"),
    ])
  func ways(line: String, path: String) throws {
    let request = try Sample.tool.parse(line.split(separator: " ").map(String.init))
    guard case .show(let page) = request else {
      Issue.record("nothing is shown")
      return
    }
    #expect(page == .help(path.split(separator: " ").map(String.init)))
  }

  @Test("help for a subcommand that is not there suggests one")
  func unknown() {
    #expect(Sample.problem("help jbos")?.problem == .unknownSubcommand("jbos", suggestion: "jobs"))
  }

  @Test("the root's help, whole")
  func root() {
    #expect(
      Sample.tool.text(of: .help(["shop"]), width: 80) == """
        shop: Submit images and look after their jobs.

        The database is found by the usual PG* variables.

        Secrets come from files.

        Examples:
          shop submit --window 8 photo.jpg
              One image, eight calls at once.

        Usage:
          shop [options] <subcommand>

        Work:
          submit       Submit images.
          jobs         Look after jobs.

        Accounts:
          report       Print a report.

        Help:
          completions  Print a completion script for bash, zsh or fish.
          help         Show the help of a command, or with 'options' the options of
                       every command.

        Options:
          -h, --help     Show this help.
              --version  Show the version.

        Every command takes --verbose, --progress and --config, too: see 'shop help
        options'.

        Exit codes:
          0   Everything asked for was done.
          1   A job failed, or a check found something wrong.
          64  The command line or the configuration is wrong.

        """)
  }

  @Test("a leaf's help, whole")
  func leaf() {
    #expect(
      Sample.tool.text(of: .help(["shop", "submit"]), width: 60) == """
        shop submit: Submit images.

        Usage:
          shop submit [options] <file>...

        Arguments:
          <file>...  Images to submit.

        Options:
          -w, --window <N>  How many calls may be in flight.
                            (default: 64; environment: SHOP_WINDOW;
                            configuration: window)
          -h, --help        Show this help.

        Every command takes --verbose, --progress and --config, too:
        see 'shop help options'.

        """)
  }

  @Test("the options of every command have a page of their own")
  func options() throws {
    guard case .show(let page) = try Sample.tool.parse(["help", "options"]) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(
      Sample.tool.text(of: page) == """
        shop: Options of every command.

        Options:
          -v, --verbose        Say more.
              --[no-]progress  Show a progress bar. (default: on; environment:
                               SHOP_PROGRESS; configuration: progress)
              --config <FILE>  Configuration file. (environment: SHOP_CONFIG)

        """)
  }

  @Test("the program alone shows its commands by subject, and ends as for a wrong command line")
  func alone() async {
    let (messages, output) = (MemoryWriter(), MemoryWriter())
    let code = await Sample.tool.run(
      [], environment: [:], console: Console(output: output, messages: messages))
    #expect(code == .usage && output.text == "")
    #expect(
      messages.text == """
        shop: a command is missing

        Work:
          submit       Submit images.
          jobs         Look after jobs.

        Accounts:
          report       Print a report.

        Help:
          completions  Print a completion script for bash, zsh or fish.
          help         Show the help of a command, or with 'options' the options of
                       every command.

        Run 'shop help COMMAND' for the help of one.

        """)
  }

  @Test("no line is wider than the terminal", arguments: [40, 60, 80, 200])
  func width(width: Int) {
    for path in [["shop"], ["shop", "jobs"], ["shop", "jobs", "list"], ["shop", "submit"]] {
      for line in Sample.tool.text(of: .help(path), width: width).split(separator: "\n") {
        #expect(line.count <= max(width, 40) && line.count <= 100, "\(line)")
      }
    }
  }

  @Test("headings are bold where colours are wanted, and only there")
  func colour() {
    #expect(Sample.tool.text(of: .help(["shop"]), paint: Paint(true)).contains("\u{1B}[1mUsage:\u{1B}[0m"))
    #expect(!Sample.tool.text(of: .help(["shop"])).contains("\u{1B}"))
  }

  @Test("the version is one line")
  func version() throws {
    guard case .show(let page) = try Sample.tool.parse(["--version"]) else {
      Issue.record("nothing is shown")
      return
    }
    #expect(Sample.tool.text(of: page) == "shop 1.2.3\n")
    #expect(Sample.problem("jobs --version") != nil)
  }

  @Test("every exit code has its number and a sentence of its own")
  func exitCodes() {
    #expect(ExitCode.allCases.map(\.code) == [0, 1, 3, 4, 5, 6, 7, 8, 9, 64, 66, 69, 70, 75, 77])
    #expect(Set(ExitCode.allCases.map(\.sentence)).count == ExitCode.allCases.count)
    #expect(ExitCode.allCases.allSatisfy { $0.sentence.hasSuffix(".") })
  }
}
