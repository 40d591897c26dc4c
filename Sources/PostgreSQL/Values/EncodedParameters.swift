internal import Clibpq

/// The parallel arrays in which libpq takes a statement's parameters.
///
/// Small values are gathered in one buffer; large ones are borrowed where they lie, so that the only copy of
/// an image is the one libpq makes into its send buffer.
struct EncodedParameters {
  /// Below this many bytes, copying costs less than lending.
  private static let lendingThreshold = 1024

  private var types: [Oid] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []
  private var offsets: [Int?] = []
  private var gathered: [UInt8] = []
  private var borrowed: [(index: Int, bytes: [UInt8])] = []

  init(_ parameters: [Parameter]) {
    for (index, parameter) in parameters.enumerated() {
      types.append(parameter.oid)
      formats.append(1)
      let start = gathered.count
      switch parameter.payload {
      case .null:
        offsets.append(nil)
        lengths.append(0)
        continue
      case .bytes(let bytes) where bytes.count >= EncodedParameters.lendingThreshold:
        offsets.append(nil)
        lengths.append(Int32(clamping: bytes.count))
        borrowed.append((index, bytes))
        continue
      case .bytes(let bytes): gathered.append(contentsOf: bytes)
      case .text(let text): gathered.append(contentsOf: text.utf8)
      case .word(let bits, let width):
        for byte in (0..<width).reversed() {
          gathered.append(UInt8(truncatingIfNeeded: bits >> UInt64(8 * byte)))
        }
      }
      offsets.append(start)
      lengths.append(Int32(clamping: gathered.count - start))
    }
    gathered.append(0)  // so that an empty value at the end still has an address: a null pointer is NULL
  }

  /// Lends the arrays to a call of libpq's: count, types, values, lengths, formats.
  func withPointers(
    _ body: (
      Int32, UnsafePointer<Oid>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
      UnsafePointer<Int32>?
    ) -> Int32
  ) -> Int32 {
    gathered.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { characters in
        let base = characters.baseAddress
        let values = offsets.map { offset in offset.flatMap { position in base.map { $0 + position } } }
        return lend(0, values) { body(Int32(types.count), types, $0, lengths, formats) }
      }
    }
  }

  /// Fills in the addresses of the borrowed values, one level of the stack for each.
  private func lend(
    _ next: Int, _ values: [UnsafePointer<CChar>?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Int32
  ) -> Int32 {
    guard next < borrowed.count else { return values.withUnsafeBufferPointer { body($0.baseAddress) } }
    return borrowed[next].bytes.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { characters in
        var values = values
        values[borrowed[next].index] = characters.baseAddress
        return lend(next + 1, values, body)
      }
    }
  }
}
