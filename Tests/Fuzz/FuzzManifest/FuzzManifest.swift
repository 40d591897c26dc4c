import CommandLineTool
import FuzzSupport

@testable import Control

/// A manifest, as CSV or JSON Lines by its first byte; and any bytes as comma-separated values.
@main enum FuzzManifest: FuzzTarget {
  private static let names = ["jobs.csv", "jobs.jsonl", "jobs"]

  static func take(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    let bytes = Array(input.dropFirst())
    readManifest(bytes, name: names[Int(choice) % names.count])
    readCells(bytes)
  }

  private static func readManifest(_ bytes: [UInt8], name: String) {
    let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
    do throws(CommandFailure) {
      var last = 0
      for row in try Manifest.rows(bytes, name: name) {
        require(row.line > last && row.line <= lineCount, "rows stand in the order of their lines")
        last = row.line
        switch row.content {
        case .success(let content):
          switch content.source {
          case .file(let name), .url(let name): require(!name.isEmpty, "a row names a file or a URL")
          }
          require((content.key ?? "").unicodeScalars.count <= 200, "a key is bounded")
          require(content.at?.isFinite ?? true, "a time is a time")
        case .failure(let fault): requireShowable(fault.sentence, limit: 500, "the fault")
        }
      }
    } catch {
      requireShowable(error.message, limit: 1000, "the error")
    }
  }

  /// What was read, written down with every cell quoted, is read again as the same.
  private static func readCells(_ bytes: [UInt8]) {
    var rows: [[String]] = []
    var reader = CSVReader(bytes)
    while let row = reader.next() {
      if case .success(let cells) = row.cells { rows.append(cells) }
    }
    // By bytes: a quotation mark and an accent behind it are one character.
    var text: [UInt8] = []
    for cells in rows {
      for (index, cell) in cells.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text.append(UInt8(ascii: "\""))
        for byte in cell.utf8 { text += byte == UInt8(ascii: "\"") ? [byte, byte] : [byte] }
        text.append(UInt8(ascii: "\""))
      }
      text += "\r\n".utf8
    }
    var again: [[String]] = []
    var second = CSVReader(text)
    while let row = second.next() {
      if case .success(let cells) = row.cells { again.append(cells) }
    }
    require(
      again.map { $0.map { Array($0.utf8) } } == rows.map { $0.map { Array($0.utf8) } },
      "cells survive being written and read")
  }
}
