import Testing

@testable import PostgreSQL

@Suite("An array's binary form")
struct ArrayFormatTests {
  private func decode(_ bytes: [UInt8]) -> [Int32?]? {
    bytes.withUnsafeBytes { ArrayFormat.decode($0, of: Int32.self) }
  }

  @Test("is read back as written")
  func roundTrip() {
    let values: [Int32?] = [1, nil, -1]
    #expect(decode(ArrayFormat.encode(values)) == values)
    #expect(decode(ArrayFormat.encode([Int32?]())) == [])
  }

  @Test("cut short anywhere is no array")
  func truncated() {
    let bytes = ArrayFormat.encode([Int32(1), nil, 3] as [Int32?])
    for length in 0..<bytes.count { #expect(decode(Array(bytes[..<length])) == nil) }
  }

  @Test("with a false count, type, length or dimension is no array")
  func malformed() {
    let bytes = ArrayFormat.encode([Int32(1), 2] as [Int32?])
    for (place, byte) in [(3, 2), (0, 255), (11, 25), (15, 3), (12, 127), (23, 5), (20, 127)]
      as [(Int, UInt8)]
    {
      var changed = bytes
      changed[place] = byte
      #expect(decode(changed) == nil, "byte \(place) set to \(byte)")
    }
  }
}
