import Foundation
import TestSupport
import Testing

@testable import StandIn
@testable import Support

@Suite("Analyses from pixels")
struct AnalysisTests {
  private func conditions(_ picture: [UInt8], _ kind: AnalysisKind) throws -> [AnsweredCondition] {
    let statistics = picture.withUnsafeBufferPointer { PictureDecoder.statistics(jpeg: $0) }
    return ConditionCatalogue.conditions(kind, try #require(statistics))
  }

  @Test(
    "Each kind of picture gets two or three conditions, the likeliest first", arguments: AnalysisKind.allCases
  )
  func twoOrThree(_ kind: AnalysisKind) throws {
    for grey in stride(from: UInt8(0), through: 250, by: 50) {
      let found = try conditions(TestPicture.jpeg(red: grey, green: 120, blue: 250 - grey), kind)
      #expect((2...3).contains(found.count))
      #expect(found.map(\.tenThousandths) == found.map(\.tenThousandths).sorted(by: >))
      #expect(found.allSatisfy { (100...9900).contains($0.tenThousandths) })
      #expect(Set(found.map(\.template.id)).count == found.count)
    }
  }

  @Test(
    "The colours of a picture decide its first condition",
    arguments: [
      (AnalysisKind.throat, [UInt8(220), 60, 60], "throat_redness"),
      (.throat, [240, 235, 230], "white_patches"),
      (.throat, [90, 120, 110], "normal"),
      (.ear, [220, 60, 60], "ear_redness"),
      (.ear, [180, 150, 20], "ear_wax"),
      (.ear, [235, 235, 235], "ear_fluid"),
    ])
  func coloursDecide(_ kind: AnalysisKind, _ colour: [UInt8], _ expected: String) throws {
    let picture = try TestPicture.jpeg(red: colour[0], green: colour[1], blue: colour[2])
    #expect(try conditions(picture, kind).first?.template.id == expected)
  }

  @Test("A PNG is analysed like a JPEG of the same colours, and one that is cut off is not")
  func png() throws {
    let picture = TinyPicture.png(grey: 235)
    let found = picture.withUnsafeBufferPointer { PictureDecoder.statistics(png: $0) }
    let statistics = try #require(found)
    #expect(abs(statistics.brightness - 235.0 / 255) < 0.01 && statistics.pale == 1)
    let cache = AnalysisCache(capacity: 10)
    #expect(cache.analysis(ImageDigest(text: "png"), .ear, picture) != nil)
    #expect(cache.analysis(ImageDigest(text: "cut"), .ear, Array(picture.prefix(60))) == nil)
    #expect(cache.analysis(ImageDigest(text: "begin"), .ear, Array(picture.prefix(8))) == nil)
  }

  @Test("What is no whole JPEG gives no analysis")
  func unreadable() throws {
    let picture = try TestPicture.jpeg()
    for bytes in [[], Array("GIF89a".utf8), Array(picture[..<40]), Array(picture[..<(picture.count / 2)])] {
      let statistics = bytes.withUnsafeBufferPointer { PictureDecoder.statistics(jpeg: $0) }
      #expect(statistics == nil)
    }
  }

  @Test(
    "Pictures are decoded at an eighth, unless little would be left",
    arguments: [(640, 480, 8), (128, 128, 8), (127, 500, 4), (63, 64, 2), (31, 900, 1), (1, 1, 1)])
  func divisor(_ width: Int, _ height: Int, _ expected: Int) {
    #expect(PictureDecoder.divisor(width: width, height: height) == expected)
  }

  @Test("Statistics of known pixels are the known numbers")
  func statistics() {
    let pixels: [UInt8] = [255, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 0]
    let found = pixels.withUnsafeBufferPointer { ColourStatistics(rgb: $0) }
    #expect(found.redness == 0.25)
    #expect(found.yellowness == 0.25)
    #expect(found.pale == 0.25)
    #expect(found.dark == 0.25)
  }

  @Test(
    "A confidence is written as a number from 0 to 1",
    arguments: [(0, "0.0000"), (7, "0.0007"), (8000, "0.8000"), (7999, "0.7999"), (10000, "1")])
  func confidence(_ tenThousandths: Int, _ text: String) {
    let condition = AnsweredCondition(template: ConditionCatalogue.normal, tenThousandths: tenThousandths)
    #expect(condition.confidence == text)
  }

  @Test("The digest changes with any byte and with the length")
  func digest() {
    let bytes = (0..<100).map { UInt8($0) }
    var digests: Set<ImageDigest> = []
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      digests.insert(changed.withUnsafeBytes { ImageDigest($0) })
      digests.insert(bytes[..<index].withUnsafeBytes { ImageDigest($0) })
    }
    digests.insert(bytes.withUnsafeBytes { ImageDigest($0) })
    #expect(digests.count == 201)
    #expect(Set(digests.map(\.low)).count == 201)
    #expect(Set(digests.map(\.high)).count == 201)
  }

  @Test("The cache stays bounded and keeps what is asked for")
  func cache() throws {
    let cache = AnalysisCache(capacity: 10)
    let picture = try TestPicture.jpeg()
    let kept = ImageDigest(text: "kept")
    _ = cache.analysis(kept, .throat, picture)
    for number in 0..<100 {
      _ = cache.analysis(ImageDigest(text: "\(number)"), .throat, picture)
      // Known: without bytes, only a cached answer can have conditions.
      #expect(cache.analysis(kept, .throat, [])?.conditions.isEmpty == false)
    }
    #expect(cache.count <= 10)
  }
}
