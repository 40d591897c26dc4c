import Testing

@testable import CommandLineTool

@Suite("A wrong command line is explained")
struct UsageErrorTests {
  @Test(
    "each mistake has its sentence",
    arguments: [
      ("submt a", "unknown subcommand 'submt': did you mean 'submit'?", "shop"),
      ("jobs lsit", "unknown subcommand 'lsit': did you mean 'list'?", "shop jobs"),
      ("frobnicate", "unknown subcommand 'frobnicate'", "shop"),
      ("rehears", "unknown subcommand 'rehears'", "shop"),
      ("completion bash", "unknown subcommand 'completion': did you mean 'completions'?", "shop"),
      ("submit --widow 3 a", "unknown option '--widow': did you mean '--window'?", "shop submit"),
      (
        "submit --no-progres a", "unknown option '--no-progres': did you mean '--no-progress'?", "shop submit"
      ),
      ("submit --no-verbose a", "unknown option '--no-verbose': did you mean '--verbose'?", "shop submit"),
      ("submit -x a", "unknown option '-x'", "shop submit"),
      ("submit -vx a", "unknown option '-x'", "shop submit"),
      ("jobs", "'shop jobs' needs a subcommand: list, show", "shop jobs"),
      ("", "'shop' needs a subcommand: submit, jobs, report", "shop"),
      ("submit", "<file> is missing", "shop submit"),
      ("jobs show", "<id> is missing", "shop jobs show"),
      ("jobs show 1 2", "unexpected argument '2'", "shop jobs show"),
      (
        "jobs list", "--user is required; it may also come from the environment variable SHOP_USER",
        "shop jobs list"
      ),
      ("jobs list -u a -u b", "--user is given more than once", "shop jobs list"),
      ("submit --verbose=yes a", "--verbose takes no value", "shop submit"),
      ("submit --no-progress=1 a", "--no-progress takes no value", "shop submit"),
      (
        "submit --window -v a",
        "--window needs a value (N); a value that starts with a dash is given as --window=VALUE",
        "shop submit"
      ),
      (
        "submit -w", "-w needs a value (N); a value that starts with a dash is given as -w=VALUE",
        "shop submit"
      ),
      ("submit -w 0 a", "--window: '0' is outside the range 1 to 4096", "shop submit"),
      ("jobs show 0", "<id>: '0' is outside the range from 1", "shop jobs show"),
      (
        "jobs list -u x --plan fre", "--plan: 'fre' is not one of free, premium; did you mean 'free'?",
        "shop jobs list"
      ),
      ("completions tcsh", "completions: 'tcsh' is not one of bash, zsh, fish", "shop"),
    ])
  func sentences(line: String, sentence: String, path: String) {
    #expect(Sample.problem(line)?.description == "\(sentence)\nRun '\(path) --help' for help.")
  }

  @Test("what was typed cannot move the cursor, nor flood the screen")
  func hostile() {
    let typed = "\u{1B}[2J\u{202E}" + String(repeating: "x", count: 500)
    let shown = Sample.problem(typed)?.description ?? ""
    #expect(!shown.contains("\u{1B}") && !shown.contains("\u{202E}"))
    #expect(shown.count < 160)
  }

  @Test("the problem can be told without its words")
  func problems() {
    #expect(Sample.problem("submt")?.problem == .unknownSubcommand("submt", suggestion: "submit"))
    #expect(Sample.problem("jobs list")?.path == ["shop", "jobs", "list"])
  }
}
