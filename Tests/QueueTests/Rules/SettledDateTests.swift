import Foundation
import TestSupport
import Testing

/// What the clocks of a place show of a day to come, or of a recent one, differs between versions of the zone data.
@Suite("Dates beside zones in the tests")
struct SettledDateTests {
  /// The places where a date after 2021 stands beside a zone with clocks of a place: in one test or declaration; in a
  /// file whose helpers name a zone; in or below a folder whose folder `Support` does.
  ///
  /// - Parameter files: The texts by their paths.
  private static func unsettled(in files: [String: String]) -> [String] {
    let zone = /\b(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)\/[A-Z]/
    let date = /\b20(2[2-9]|[3-9]\d)(-\d\d-\d\d|, \d+, \d+)/
    let members = files.mapValues { $0.split(separator: /\n\n(?= {0,2}\S)/) }
    func isZoned(_ path: String) -> Bool {
      members[path]?.contains { !$0.contains("  @Test") && $0.contains(zone) } == true
    }
    let zonedFolders = files.keys.filter(isZoned).compactMap { path in
      path.range(of: "/Support/").map { "\(path[..<$0.lowerBound])/" }
    }
    return files.keys.sorted().flatMap { path in
      let isBeside = isZoned(path) || zonedFolders.contains(where: path.hasPrefix)
      return (members[path] ?? []).filter { isBeside || $0.contains(zone) }
        .flatMap { $0.matches(of: date).map { "\(path): \($0.output.0)" } }
    }
  }

  @Test("are of 2021 and before, or beside UTC or a zone like Etc/GMT-7, whose clocks never change")
  func settled() throws {
    var files: [String: String] = [:]
    let folder = packagePath("Tests")
    for case let path as String in FileManager.default.enumerator(atPath: folder) ?? .init()
    where path.hasSuffix(".swift") && !path.hasSuffix("/SettledDateTests.swift") {
      files[path] = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
    }
    #expect(files.count > 100)
    #expect(Self.unsettled(in: files) == [])
  }

  @Test("are seen in the same test, beside a helper's zone, and beside that of the folder's support")
  func seen() {
    let plain = "  @Test(\"a\")\n  func a() {\n    at(\"2026-11-01\")\n  }"
    let zoned = "  @Test(\"b\")\n  func b() {\n    zone(\"Asia/Jakarta\")\n  }"
    let helper = "  let zone = \"Asia/Jakarta\""
    #expect(Self.unsettled(in: ["T/A.swift": "\(plain)\n\n\(zoned)"]) == [])
    #expect(
      Self.unsettled(in: ["T/A.swift": zoned.replacing("zone(", with: "at(2022, 1, 1); zone(")])
        == ["T/A.swift: 2022, 1, 1"])
    #expect(Self.unsettled(in: ["T/A.swift": "\(helper)\n\n\(plain)"]) == ["T/A.swift: 2026-11-01"])
    #expect(Self.unsettled(in: ["T/A.swift": plain, "T/B.swift": helper, "U/Support/A.swift": helper]) == [])
    #expect(
      Self.unsettled(in: ["T/D/A.swift": plain, "T/Support/B.swift": helper]) == ["T/D/A.swift: 2026-11-01"])
    #expect(Self.unsettled(in: ["T/D/A.swift": plain, "T/E/Support/B.swift": helper]) == [])
  }
}
