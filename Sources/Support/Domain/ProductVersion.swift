/// The version of the programs, which are released together.
public enum ProductVersion {
  /// As `--version` prints it, and as it is kept with each result.
  public static let current = "1.0.0"
}
