import Testing

@testable import Images
@testable import Support

@Suite("Cleaning is the same each time and from every thread")
struct CleanerTests {
  @Test("A clean picture passes unchanged", arguments: Fixtures.accepted)
  func again(name: String) async throws {
    let once = try await ImageCleaner().clean(Fixtures.bytes(name))
    let twice = try ImageCleaner().clean(once.bytes)
    #expect(twice.bytes == once.bytes)
    #expect(twice.sha256 == once.sha256)
    #expect(
      twice.changes
        == CleanImage.Changes(
          orientation: 1, reencoded: false, converted: false, scaled: false, metadataBytesRemoved: 0))
  }

  @Test("Many threads at once get what one gets")
  func concurrently() async throws {
    var read: [[UInt8]] = []
    for name in Fixtures.accepted { read.append(try await Fixtures.bytes(name)) }
    let files = read
    let alone = try files.map { try ImageCleaner().clean($0).sha256 }
    let cleaner = ImageCleaner()
    let together = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
      for (index, file) in (files + files).enumerated() {
        group.addTask { @concurrent in (index % files.count, try cleaner.clean(file).sha256) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(together.count == files.count * 2)
    for (index, hash) in together { #expect(hash == alone[index]) }
  }

  @Test("The picture is known by the hash of its clean bytes")
  func hash() async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes("metadata.jpg"))
    #expect(clean.sha256 == SHA256.digest(of: clean.bytes))
    #expect(clean.sha256.count == 32)
    // Other metadata, the same picture.
    let other = try await ImageCleaner().clean(Fixtures.bytes("metadata.jpg") + [0])
    #expect(other.sha256 == clean.sha256)
    #expect(clean.sha256.count == 32)
  }
}
