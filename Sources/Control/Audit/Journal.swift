import Csystemd
import Glibc
import Support

/// The system's journal: what is sent there is out of the sender's reach, and the journal itself adds which user sent
/// it.
enum Journal {
  private static let socket = "/run/systemd/journal/socket"

  /// Sends an entry: fields with their values. The journal adds `_UID` and more, which no sender can choose.
  ///
  /// Throws `unwritable`, also where no journal runs: the library itself would say nothing of that.
  static func send(_ fields: [(name: String, value: String)]) throws(SystemError) {
    guard access(socket, F_OK) == 0 else {
      throw .lastCall(.unwritable, "the system's journal cannot be reached", path: socket)
    }
    let texts = fields.map { Array("\($0.name)=\($0.value)".utf8) }
    // One buffer for all, so that every pointer into it is good for as long as the call.
    var bytes = texts.flatMap { $0 }
    let code = bytes.withUnsafeMutableBytes { buffer in
      var parts: [iovec] = []
      var offset = 0
      for text in texts {
        parts.append(iovec(iov_base: buffer.baseAddress?.advanced(by: offset), iov_len: text.count))
        offset += text.count
      }
      return sd_journal_sendv(parts, Int32(parts.count))
    }
    guard code >= 0 else {
      throw .failedCall(
        .unwritable, "the system's journal does not take an entry", number: -code, path: socket)
    }
  }

  /// Reads a field of every entry of this machine's journal that has all of some fields with their values, the oldest
  /// first. Entries that other machines sent are left out: who sent those is what that machine says.
  ///
  /// Throws `unreadable`. Entries that this user may not read are passed over without an error.
  static func values(
    of field: String, matching fields: [(name: String, value: String)]
  ) throws(SystemError) -> [String] {
    var handle: OpaquePointer?
    try check(sd_journal_open(&handle, Int32(SD_JOURNAL_LOCAL_ONLY)))
    defer { sd_journal_close(handle) }
    for field in fields {
      let match = "\(field.name)=\(field.value)"
      try check(match.withCString { sd_journal_add_match(handle, $0, 0) })
    }
    var values: [String] = []
    while try check(sd_journal_next(handle)) > 0 {
      var data: UnsafeRawPointer?
      var length = 0
      let code = sd_journal_get_data(handle, field, &data, &length)
      if code == -ENOENT { continue }
      try check(code)
      // `FIELD=value`, good until the next call.
      let bytes = UnsafeRawBufferPointer(start: data, count: length).dropFirst(field.utf8.count + 1)
      values.append(String(decoding: bytes, as: UTF8.self))
    }
    return values
  }

  @discardableResult
  private static func check(_ code: Int32) throws(SystemError) -> Int32 {
    guard code >= 0 else {
      throw .failedCall(.unreadable, "the system's journal cannot be read", number: -code)
    }
    return code
  }
}
