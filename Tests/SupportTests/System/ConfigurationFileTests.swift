import Glibc
import TestSupport
import Testing

@testable import Support

@Suite("A configuration file is read")
struct ConfigurationFileTests {
  let keys: Set<String> = ["concurrency", "endpoint", "zone", "log.level"]

  /// The error of a text, as it is shown.
  func fault(_ text: String) -> String? {
    do {
      _ = try ConfigurationFile.parse(text, path: "x.conf", keys: keys)
      return nil
    } catch {
      return error.description
    }
  }

  @Test("keys, comments, quotes and spaces")
  func whole() throws {
    let file = try ConfigurationFile.parse(
      """
      # the worker

        concurrency=64
      endpoint = "https://analysis.example/#a b"  # where
      zone = Asia/Jakarta # local time
      log.level =\tinfo#1
      """, path: "x.conf", keys: keys)
    #expect(
      file.values == [
        "concurrency": "64", "endpoint": "https://analysis.example/#a b", "zone": "Asia/Jakarta",
        "log.level": "info#1",
      ])
    #expect(file.entries["zone"]?.line == 5)
  }

  @Test(
    "values within quotes",
    arguments: [
      (#""a \"b\" \\ c""#, #"a "b" \ c"#), (#""a\tb\nc""#, "a\tb\nc"), (#""""#, ""), ("", ""), ("# x", ""),
    ])
  func values(written: String, meant: String) throws {
    #expect(try ConfigurationFile.parse("zone = \(written)", path: "x", keys: keys).values["zone"] == meant)
  }

  @Test("a file that begins with a byte order mark is read as one without it")
  func byteOrderMark() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("\u{FEFF}zone = UTC\r\nconcurrency = 2\r\n", to: "x.conf")
    #expect(try ConfigurationFile.read(path, keys: keys).values == ["zone": "UTC", "concurrency": "2"])
    for text in ["\u{FEFF}email = a@b\npassword = c\n", "\u{FEFF}{\"email\": \"a@b\", \"password\": \"c\"}"] {
      let path = try folder.write(text, to: "credentials")
      #expect(chmod(path, 0o600) == 0)
      #expect(try Credentials.read(path) == Credentials(email: "a@b", password: Secret("c")))
    }
  }

  @Test("line breaks of Windows are line breaks")
  func windows() throws {
    let file = try ConfigurationFile.parse("zone = UTC\r\nconcurrency = 3\r\n", path: "x", keys: keys)
    #expect(file.values == ["zone": "UTC", "concurrency": "3"])
  }

  @Test(
    "each mistake is told with its line",
    arguments: [
      ("\nconcurency = 3", "x.conf:2: unknown key 'concurency'; did you mean 'concurrency'?"),
      ("colour = red", "x.conf:1: unknown key 'colour'"),
      ("zone UTC", "x.conf:1: is not of the form 'key = value'"),
      ("[section]", "x.conf:1: is not of the form 'key = value'"),
      ("zo ne = UTC", "x.conf:1: a key consists of letters, digits, '.', '_' and '-'"),
      ("= UTC", "x.conf:1: a key consists of letters, digits, '.', '_' and '-'"),
      ("zone = UTC\nzone = UTC", "x.conf:2: 'zone' already stands in line 1"),
      ("zone = \"UTC", "x.conf:1: the closing quote is missing"),
      ("zone = \"UTC\" x", "x.conf:1: something stands after the closing quote"),
      (#"zone = "a\q""#, #"x.conf:1: after a backslash only \, ", n and t may stand"#),
    ])
  func mistakes(text: String, shown: String) {
    #expect(fault(text) == shown)
  }

  @Test("a file that is missing, a folder, or not text is refused by name")
  func files() throws {
    let folder = try TemporaryFolder()
    let missing = "\(folder.path)/none.conf"
    #expect(throws: SystemError.self) { try ConfigurationFile.read(missing, keys: []) }
    let whole = try folder.write("zone = UTC\n", to: "a.conf", mode: 0o644)
    #expect(try ConfigurationFile.read(whole, keys: keys).values == ["zone": "UTC"])
    let path = folder.path
    let error = #expect(throws: SystemError.self) { try ConfigurationFile.read(path, keys: []) }
    #expect(error?.code == .unreadable)
    #expect(error?.errno != nil)
    #expect(error?.path == path)
  }
}
