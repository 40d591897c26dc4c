import Testing

@testable import CommandLineTool
@testable import Control

@Suite("Each image of a run has a key")
struct KeyMakerTests {
  @Test("the only image has the run's own")
  func single() {
    var keys = KeyMaker(runKey: "k", isSingle: true)
    let key = keys.key(user: "u", name: "a.jpg")
    #expect(key == "k")
  }

  @Test("of several each has another: by user, by name, and by how often the name was given")
  func several() {
    var keys = KeyMaker(runKey: "k", isSingle: false)
    let made = [("u", "a"), ("u", "b"), ("v", "a"), ("u", "a"), ("u", "a")].map {
      keys.key(user: $0.0, name: $0.1)
    }
    #expect(Set(made).count == made.count)
    #expect(made.allSatisfy { $0.hasPrefix("k:") && $0.count == 34 })
  }

  @Test("the same names give the same keys again, whatever else was named before")
  func stable() {
    var first = KeyMaker(runKey: "k", isSingle: false)
    var second = KeyMaker(runKey: "k", isSingle: false)
    _ = second.key(user: "u", name: "other")
    var other = KeyMaker(runKey: "l", isSingle: false)
    let key = first.key(user: "u", name: "a")
    let again = second.key(user: "u", name: "a")
    let ofAnotherRun = other.key(user: "u", name: "a")
    #expect(key == again)
    #expect(key != ofAnotherRun)
  }

  @Test("a longest run key leaves room: 200 characters are what the database takes")
  func room() throws {
    let longest = String(repeating: "k", count: 150)
    #expect(try SubmitLimitsOfText.runKey.parse(longest) == longest)
    var keys = KeyMaker(runKey: longest, isSingle: false)
    let key = keys.key(user: "u", name: "a")
    #expect(key.unicodeScalars.count <= 200)
    #expect(throws: (any Error).self) { try SubmitLimitsOfText.runKey.parse(longest + "k") }
  }

  @Test("random run keys differ and are 32 hexadecimal digits")
  func random() {
    let keys = (0..<50).map { _ in Dependencies.process.runKey() }
    #expect(Set(keys).count == 50)
    #expect(keys.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }
}
