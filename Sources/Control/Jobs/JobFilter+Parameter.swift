import PostgreSQL
import Queue
import Support

extension JobFilter {
  /// The filter as functions of the schema take it: the document of an `analysis.job_filter`.
  var parameter: Parameter {
    let document: JSONValue = [
      "user": .text(user), "state": .text(state?.rawValue), "kind": .count(kind?.code),
      "month": .count(month?.label), "batch": .count(batch?.value), "reference": .text(reference),
      "class": .text(cause?.failureClass), "code": .text(cause?.code),
      "status": .count(cause?.status.map { Int16(clamping: $0) }), "message": .text(cause?.messageStart),
    ]
    return .jsonb(document.json)
  }
}
