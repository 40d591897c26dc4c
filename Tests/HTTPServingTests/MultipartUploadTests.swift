import TestSupport
import Testing

@testable import HTTPServing

@Suite("Files that are sent as multipart forms")
struct MultipartUploadTests {
  private static let form = UploadForm(file: "image", field: "type", fileLimit: 4000)

  private func body(
    _ file: [UInt8], type: String? = "ear", name: String = "image", ends: Bool = true,
    boundary: String = "b0undary"
  ) -> [UInt8] {
    var text = ""
    if let type {
      text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\n\(type)\r\n"
    }
    text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"image.jpg\"\r\n"
    text += "Content-Type: image/jpeg\r\n\r\n"
    return Array(text.utf8) + file + Array("\r\n--\(boundary)\(ends ? "--\r\n" : "")".utf8)
  }

  private func read(
    _ body: [UInt8], type: String = "multipart/form-data; boundary=b0undary", cut size: Int = .max
  ) throws -> MultipartUpload {
    let upload = try #require(MultipartUpload(Self.form, contentType: type))
    for start in stride(from: 0, to: body.count, by: min(size, body.count)) {
      #expect(!upload.isWhole || start > body.count - 4)
      body[start..<min(start + min(size, body.count), body.count)].withUnsafeBytes { upload.receive($0) }
    }
    return upload
  }

  @Test("A form is read the same however it is cut", arguments: [1, 2, 3, 7, 64, 1000])
  func cuts(_ size: Int) throws {
    // Almost a delimiter, again and again.
    let file = Array(String(repeating: "\r\n--b0undar\r\n--b0undar", count: 20).utf8)
    let upload = try read(body(file), cut: size)
    #expect(upload.isWhole && upload.files == 1 && !upload.hasUnknownFile)
    #expect(upload.file == file && upload.fileCount == file.count)
    #expect(upload.field.map { String(decoding: $0, as: UTF8.self) } == "ear")
    #expect(upload.takeFile() == file && upload.file.isEmpty)
  }

  @Test(
    "The boundary is found as clients write it",
    arguments: [
      "multipart/form-data; boundary=\"b0undary\"", "multipart/form-data; Boundary=b0undary",
      "Multipart/Form-Data;boundary=b0undary; charset=utf-8",
      "multipart/form-data; charset=utf-8; boundary=b0undary",
    ])
  func boundaries(type: String) throws {
    #expect(try read(body([1, 2, 3]), type: type).file == [1, 2, 3])
  }

  @Test(
    "Other bodies are no forms",
    arguments: [
      "", "image/jpeg", "multipart/form-data", "multipart/form-data; boundary=",
      "multipart/mixed; boundary=b",
      "multipart/form-data; boundary=" + String(repeating: "b", count: 71),
    ])
  func others(type: String) {
    #expect(MultipartUpload(Self.form, contentType: type) == nil)
  }

  @Test("A file that is too large is counted and not kept")
  func tooLarge() throws {
    let upload = try read(body([UInt8](repeating: 7, count: 4001)), cut: 100)
    #expect(upload.fileCount == 4001 && upload.file.isEmpty && upload.isWhole)
    #expect(try read(body([UInt8](repeating: 7, count: 4000))).file.count == 4000)
  }

  @Test("Two files, one under another name, none, a text without end and a form without end are each seen")
  func odd() throws {
    let whole = body([1])
    #expect(try read(whole.dropLast("--b0undary--\r\n".utf8.count) + whole).files == 2)
    #expect(try read(body([1], name: "photo")).hasUnknownFile)
    #expect(try read(body([1], type: nil)).field == nil)
    #expect(try read(body([1], ends: false)).isWhole == false)
    let long = try read(body([1], type: String(repeating: "x", count: 10_000)), cut: 50)
    #expect(long.field?.count ?? 0 <= 64 && long.heldBytes < 20_000)
  }

  @Test("A text that goes on behind one that is taken is never that one, however it is cut")
  func longText() throws {
    let whole = body([1], type: "throat" + String(repeating: "x", count: 200))
    for first in 1..<whole.count {
      let upload = try #require(
        MultipartUpload(Self.form, contentType: "multipart/form-data; boundary=b0undary"))
      for part in [whole[..<first], whole[first...]] { part.withUnsafeBytes { upload.receive($0) } }
      #expect(upload.isWhole && upload.field == Array("throat".utf8) + [UInt8](repeating: 120, count: 58))
    }
  }

  @Test(
    "A megabyte in pieces of one byte costs as much as in one: headers that are long, and what is almost a delimiter"
  )
  func onePieceEach() throws {
    let boundary = String(repeating: "-", count: 70)
    let form = UploadForm(file: "image", field: "type", fileLimit: 2 << 20)
    let long = "--\(boundary)\r\nX: \(String(repeating: "\r", count: 16_000))\r\n\r\nx\r\n"
    let file = Array(String(repeating: "\r\n--\(boundary.dropLast())", count: 7_000).utf8)
    let whole = Array(String(repeating: long, count: 30).utf8) + body(file, boundary: boundary)
    let upload = try #require(
      MultipartUpload(form, contentType: "multipart/form-data; boundary=\(boundary)"))
    whole.withUnsafeBytes { bytes in
      for index in bytes.indices { upload.receive(UnsafeRawBufferPointer(rebasing: bytes[index...index])) }
    }
    #expect(upload.isWhole && upload.file == file)
  }

  @Test("Headers without end take no more memory than they may")
  func headers() throws {
    let upload = try #require(MultipartUpload(Self.form, contentType: "multipart/form-data; boundary=b"))
    Array("--b\r\n".utf8).withUnsafeBytes { upload.receive($0) }
    let line = Array("X: \(String(repeating: "x", count: 1000))\r\n".utf8)
    for _ in 0..<1000 { line.withUnsafeBytes { upload.receive($0) } }
    #expect(upload.heldBytes < 100_000 && !upload.isWhole)
  }
}
