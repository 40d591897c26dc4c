/// What an encrypted file belongs to: its name.
struct FileBinding: EncryptionBinding {
  let name: String

  var ofBytes: [UInt8] { context("analysis-file 1") }
  var ofKey: [UInt8] { context("analysis-file-key 1") }

  private func context(_ label: String) -> [UInt8] {
    Self.context(Array(label.utf8), Array(name.utf8))
  }
}
