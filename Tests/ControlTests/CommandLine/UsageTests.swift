import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("A wrong command line is refused before anything is asked of a database")
struct UsageTests {
  /// No server is there: a command that asked it would end with another code than 64 or 66.
  private let control = Control(database: "host=/nonexistent")

  @Test(
    "with code 64 and words that help",
    arguments: [
      ("", "Run 'analysisctl help COMMAND' for the help of one."),
      ("pause --until soon", "--until: 'soon' is neither a length of time such as 90d, nor a day"),
      ("erase", "nobody is named"),
      ("erase u1 --user u2", "a person is named twice"),
      ("erase --number 7 --user u2", "a person is named twice"),
      ("sumbit", "unknown subcommand 'sumbit': did you mean 'submit'?"),
      ("migrate --dryrun", "unknown option '--dryrun': did you mean '--dry-run'?"),
      ("migrate now", "unexpected argument 'now'"),
      ("status --log-level loud", "--log-level: 'loud' is not one of trace, debug"),
      ("submit", "nothing to submit is named"),
      ("submit a.jpg", "--user is required"),
      ("submit --user u a.jpg", "--type is required: throat or ear"),
      ("submit --user u --type thraot a.jpg", "did you mean 'throat'?"),
      (
        "submit --user u --type ear --priority high a.jpg",
        "--priority: 'high' is not one of urgent, normal, bulk"
      ),
      ("submit --user u --type ear --at 2026-10-01 a.jpg", "--at: '2026-10-01'"),
      (
        "submit --user u --type ear --at 2026-10-02T00:00:00Z --expires 2026-10-01T00:00:00Z a",
        "--expires must be"
      ),
      ("submit --user u --type ear --timeout 5s a.jpg", "--timeout is of use only with --wait"),
      ("submit --user u --type ear --wait --timeout 5 a.jpg", "--timeout: '5' is not a length of time"),
      ("submit --user u --type ear --max-dimension 4 a.jpg", "--max-dimension: '4' is outside the range"),
      ("submit --user u --type ear - -", "standard input (-) can be submitted once"),
      ("submit --manifest m.csv a.jpg", "files and --manifest cannot be given together"),
      ("submit --manifest m.csv --url https://a.org/", "files and --manifest cannot be given together"),
      ("submit --user u --type ear --url https://a.org/SECRET", "images by URL are not enabled"),
      ("submit --user u --type ear --url-hosts a/b --url https://a/", "--url-hosts: 'a/b' is not a host"),
      (
        "submit --user u --type ear --url-hosts *.org --url https://a/",
        "--url-hosts: '*.org' allows too much"
      ),
      ("jobs", "'analysisctl jobs' needs a subcommand: list, show, retry, cancel"),
      ("jobs list --state done", "--state: 'done' is not one of waiting"),
      ("jobs list --month 2026-13", "--month: '2026-13' is not a month"),
      ("jobs list --after 5", "--after: '5' is not a position in a list"),
      ("jobs list --limit 0", "--limit: '0' is outside the range"),
      ("jobs list --cause server", "only failed jobs have a cause"),
      ("jobs list --failed --cause nothing", "--cause: 'nothing' is no cause"),
      ("jobs cancel --cause server", "--cause"),
      ("jobs show", "<job> is missing"),
      ("jobs show -5", "-5"),
      ("jobs show abc", "<job>: 'abc' is not a job's number"),
      ("jobs retry", "no job is named"),
      ("jobs cancel", "no job is named"),
      ("jobs cancel 1 --user u", "jobs are given by number and by a filter"),
      ("jobs retry --state waiting", "'jobs retry' does nothing to a job that is waiting"),
      ("jobs cancel --state dead", "'jobs cancel' does nothing to a job that is dead"),
      ("users", "'analysisctl users' needs a subcommand: add, show, list, set-plan, set-zone, set-period"),
      ("users rename u u", "the new name is the old one"),
      ("users rename u v", "there is no terminal to ask at"),
      ("users import --format xml", "--format: 'xml' is not one of json, csv"),
      ("account login", "no endpoint is named"),
      ("account login --endpoint http://127.0.0.1:9", "no account is named"),
      ("account login --endpoint http://192.0.2.1:9 --credentials c", "the endpoint cannot be used"),
      ("account login --endpoint https://192.0.2.1/?key=1 --credentials c", "the address has a query"),
      ("account profile --gender x", "no user is named"),
      ("account profile --user u --photo https://a.org/ --remove-photo", "cannot be given together"),
      ("account subscribe gold", "<subscription>: 'gold' is not one of free, premium"),
      ("account sync", "--user is required"),
      ("account delete", "<analysis> is missing"),
      ("account delete a", "there is no terminal to ask at"),
      ("users set-photo u", "neither an address nor --remove is given"),
      ("users set-photo u https://a.org/ --remove", "an address and --remove cannot be given together"),
      ("users set-photo u https://a.org/", "images by URL are not enabled"),
      ("users prefetch-photos", "images by URL are not enabled"),
      ("users prefetch-photos --url-hosts a.org", "there is no cache to fill"),
      ("users prefetch-photos --url-hosts a.org --url-cache c", "no key file is named"),
      (
        "users prefetch-photos --url-hosts a.org --url-cache c --url-cache-size 5",
        "--url-cache-size: '5' is outside"
      ),
      ("users add", "<user> is missing"),
      ("users set-plan u", "<plan> is missing"),
      ("users set-zone u", "<zone> is missing"), ("users set-period u", "--anchor is missing"),
      ("users set-period u --anchor 32", "--anchor"),
      ("users set-period u --anchor 1 --from 1999-01", "2000"),
      ("plans set-limit free many", "<limit>: 'many' is neither a number of analyses nor unlimited"),
      ("plans set-limit free -- -1", "<limit>: '-1' is neither"),
      ("plans set-price free 1", "<currency> is missing"),
      ("plans set-price free 1e3 EUR", "<price>: '1e3' is not a price"),
      ("plans set-price free 1 EUR --from 2026-02-29", "--from: '2026-02-29' is not a day"),
      ("statement", "a statement is of one clinic or of one user"),
      ("statement --clinic north --user u", "a statement is of one clinic or of one user"),
      ("statement --clinic north --out x.doc", "the ending of x.doc does not say how to write it"),
      ("keys", "'analysisctl keys' needs a subcommand: new, list, rotate, remove"),
      ("keys new", "no key file is named"),
      ("keys list", "no key file is named"),
      ("keys rotate", "no key file is named"),
      ("keys remove 0123456789abcdef", "no key file is named"),
      ("keys remove --key-file k", "<key> is missing"),
      ("keys remove --key-file k 12", "<key>: '12' is not a key's number"),
      ("report", "'analysisctl report' needs a subcommand: usage, analyses, conditions, summary"),
      ("report usage --month next", "--month: 'next' is not a month; write YYYY-MM"),
      ("report usage --format xlsx", "--format: 'xlsx' is not one of table, csv, json"),
      ("report usage --json --format csv", "--json and --format csv contradict each other"),
      ("report usage --excel", "--excel is of use only with --format csv"),
      ("report analyses --due x", "unknown option '--due'"),
      ("report usage --by week", "--by: 'week' is not one of day, clinic, plan, type"),
      ("report usage --from 2026-10-01 --by day", "--from and --to are given together"),
      ("report usage --to 2026-10-01 --by day", "--from and --to are given together"),
      ("report usage --from 2026-02-30 --to 2026-03-01 --by day", "--from: '2026-02-30' is not a day"),
      ("report usage --from 2026-10-01 --to 2026-10-31", "--from and --to need --by"),
      (
        "report usage --from 2026-10-02 --to 2026-10-01 --by day",
        "--to 2026-10-01 is before --from 2026-10-02"
      ),
      (
        "report usage --from 2026-01-01 --to 2027-01-02 --by type",
        "2026-01-01 to 2027-01-02 are 367 days, and at most 366 are added up at once"
      ),
      ("report usage --from 1999-12-31 --to 2000-01-01 --by day", "are not of the years 2000 to 2699"),
      (
        "report usage --month 2026-10 --from 2026-10-01 --to 2026-10-01 --by day",
        "--from and --month cannot be given together"
      ),
      ("report usage --by day --zone UTC", "--by and --zone cannot be given together"),
      ("report usage --by day --all-users", "--by and --all-users cannot be given together"),
      ("report usage --all-users --json", "--all-users is of use only with a table"),
      ("report usage --due x --by day", "--due and --by cannot be given together"),
      ("report usage --due x --clinic north", "--due and --clinic cannot be given together"),
      ("report usage --due x --all-users", "--due and --all-users cannot be given together"),
      ("report summary --by day", "unknown option '--by'"),
      ("month close", "no month is named"),
      ("month close --due 2026-10", "give either a month or --due"),
      ("month close next --yes", "'next' is not a month; write YYYY-MM"),
      ("report usage --due x --month 2026-10", "--due and --month cannot be given together"),
      ("report usage --due x --out y", "--due and --out cannot be given together"),
      ("reconcile --month soon", "--month: 'soon' is not a month"),
      ("audit", "'analysisctl audit' needs a subcommand: list, verify"),
      ("audit list --since yesterday", "--since: 'yesterday'"),
      ("audit list --limit 0", "--limit: '0' is outside the range"),
      ("audit verify --expect 12", "--expect: '12' is not an end of the audit"),
      ("purge --share 0", "--share: '0' is outside the range"),
      ("purge now", "unexpected argument 'now'"),
      ("purge --cache-only", "there is no cache to sweep"),
    ])
  func usage(line: String, words: String) async {
    let ran = await control.run(line.split(separator: " ").map(String.init))
    #expect(ran.code == .usage)
    #expect(ran.output == "")
    #expect(ran.messages.hasPrefix("analysisctl: "))
    #expect(ran.messages.contains(words), "\(ran.messages)")
  }

  @Test("a URL is in no word of a refusal")
  func url() async throws {
    let files = try TemporaryFolder(["m.csv": Array("url\nhttps://img.example.org/private?key=SECRET\n".utf8)]
    )
    for line in [
      ["submit", "--user", "u", "--type", "ear", "--url", "https://img.example.org/private?key=SECRET"],
      ["submit", "--user", "u", "--type", "ear", "--manifest", files.path("m.csv")],
      ["users", "set-photo", "u", "https://img.example.org/private?key=SECRET"],
    ] {
      let ran = await control.run(line)
      #expect(ran.code == .usage)
      #expect(ran.messages.contains("url-hosts = images.example.org in the configuration file"))
      #expect(!(ran.output + ran.messages).contains("SECRET") && !ran.messages.contains("private"))
    }
  }

  @Test("a key that is too long is refused")
  func longKey() async {
    let key = String(repeating: "k", count: 151)
    let ran = await control("submit", "--user", "u", "--type", "ear", "--key", key, "a.jpg")
    #expect(ran.code == .usage)
  }

  @Test(
    "a file that the command cannot do without is code 66",
    arguments: ["submit --manifest nowhere.csv", "users import nowhere.json"])
  func unreadable(line: String) async {
    let ran = await control.run(line.split(separator: " ").map(String.init))
    #expect(ran.code == .unreadableInput)
    #expect(ran.messages.contains("nowhere."))
  }

  @Test("the configuration file is read, and an unknown key in it refused")
  func configuration() async throws {
    let files = try TemporaryFolder()
    try files.write("# ours\ndatabase = \"host=/nonexistent\"\nlog-level = error\n", to: "good.conf")
    try files.write("databse = x\n", to: "bad.conf")
    let plain = Control()
    #expect(await plain("status", "--config", files.path("good.conf")).code == .unreachable)
    let bad = await plain("status", "--config", files.path("bad.conf"))
    #expect(bad.code == .usage)
    #expect(bad.messages.contains("bad.conf:1: unknown key 'databse'; did you mean 'database'?"))
    #expect(await plain("status", "--config", files.path("missing.conf")).code == .unreadableInput)
  }

  @Test(
    "a server that is not there is code 69 for every command, and a password code 64 that is in no word of it",
    arguments: [
      "migrate", "migrate --dry-run", "status", "jobs list", "jobs show 1", "jobs cancel 1", "jobs retry 1",
      "users add u", "users show u", "users list", "users set-plan u free", "users set-zone u UTC",
      "users set-period u --anchor 15", "users set-photo u --remove", "users rename u v --yes",
      "account profile --user u --gender x", "plans",
      "plans list", "plans set-limit free 1", "plans add pro 9", "plans set-price free 1 EUR",
      "statement --clinic north", "settings", "settings list", "settings set zone UTC --yes",
      "report usage", "report analyses", "report conditions",
      "report summary", "reconcile", "audit list", "audit verify", "purge --yes", "purge --dry-run",
    ])
  func unreachable(line: String) async {
    let words = line.split(separator: " ").map(String.init)
    let ran = await Control(database: "host=/nonexistent user=u").run(words)
    #expect(ran.code == .unreachable)
    #expect(ran.output == "")
    let refused = await Control(database: "host=/nonexistent user=u password=hunter2").run(words)
    #expect(refused.code == .usage)
    #expect(refused.output == "")
    #expect(!refused.messages.contains("hunter2"))
  }
}
