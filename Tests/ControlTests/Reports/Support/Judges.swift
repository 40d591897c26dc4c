import Foundation
import TestSupport

/// Programs that read what was written here.
enum Judge {
  static let pdfToText = HelperProgram.find("/usr/bin/pdftotext")
  static let pdfInfo = HelperProgram.find("/usr/bin/pdfinfo")
  static let office = HelperProgram.find("/usr/bin/soffice", "/usr/bin/libreoffice")
  static let python = HelperProgram.find("/usr/bin/python3")

  /// The text of a PDF as it stands on its pages.
  static func text(ofPDF path: String) async throws -> String {
    guard let pdfToText else { throw TestSupportError("pdftotext is not installed") }
    return String(
      decoding: try await HelperProgram.output(pdfToText, ["-layout", path, "-"]), as: UTF8.self)
  }

  /// What a PDF says of itself.
  static func facts(ofPDF path: String) async throws -> String {
    guard let pdfInfo else { throw TestSupportError("pdfinfo is not installed") }
    return String(decoding: try await HelperProgram.output(pdfInfo, ["-isodates", path]), as: UTF8.self)
  }

  /// The sheets of a workbook as LibreOffice reads them, rows of cells by the sheet's name.
  static func sheets(of path: String, in folder: TemporaryFolder) async throws -> [String: [[String]]] {
    guard let office else { throw TestSupportError("LibreOffice is not installed") }
    // Every cell as its value, every sheet to a file of its own.
    let filter = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
    _ = try await HelperProgram.output(
      office,
      [
        "-env:UserInstallation=file://\(folder.path("profile"))", "--headless", "--convert-to", filter,
        "--outdir", folder.path("sheets"), path,
      ])
    var sheets: [String: [[String]]] = [:]
    for name in try folder.names(in: "sheets") {
      let sheet = name.replacing("statement-", with: "").replacing(".csv", with: "")
      sheets[sheet] = try await Python.csvRows(folder.bytes("sheets/\(name)"), encoding: "utf-8")
    }
    return sheets
  }

  /// A part of a workbook, which is a zip.
  static func part(_ name: String, of path: String) async throws -> String {
    let script =
      "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))"
    return String(
      decoding: try await HelperProgram.output(python ?? "python3", ["-c", script, path, name]), as: UTF8.self
    )
  }

  /// The texts of all elements with a name in a page that has to be well-formed.
  static func elements(_ name: String, ofPage bytes: [UInt8]) async throws -> [String] {
    let script = """
      import json, sys
      import xml.etree.ElementTree as tree
      root = tree.fromstring(sys.stdin.buffer.read())
      print(json.dumps(["".join(e.itertext()) for e in root.iter(sys.argv[1])]))
      """
    let output = try await HelperProgram.output(python ?? "python3", ["-c", script, name], input: bytes)
    return try JSONDecoder().decode([String].self, from: Data(output))
  }
}
