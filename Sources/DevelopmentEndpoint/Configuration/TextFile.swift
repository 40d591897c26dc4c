import FoundationEssentials

/// Files that are read whole.
public enum TextFile {
  /// The text of a file.
  ///
  /// - Throws: `EndpointError` if it cannot be read or is not UTF-8.
  public static func read(_ path: String) throws(EndpointError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw EndpointError(.unreadable, "'\(path)' cannot be read; does it exist, and may this user read it?")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw EndpointError(.unreadable, "'\(path)' is not UTF-8 text")
    }
    return text
  }
}
