extension Int {
  /// What stands for "no limit" where the API's guide has a plain number: its client reads no null there.
  package static let noLimit = 2_147_483_647
}
