import AnalysisCore
import Formatting

extension JSONValue {
  /// A job's number as text, or null.
  static func id(_ job: JobID?) -> JSONValue { text(job?.description) }

  /// A month, or null.
  static func month(_ period: Period?) -> JSONValue { text(period?.description) }

  /// A moment in RFC 3339, or null.
  static func time(_ seconds: Double?) -> JSONValue { text(seconds.flatMap(Moment.exact)) }
}
