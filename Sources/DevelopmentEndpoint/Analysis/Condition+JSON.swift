import Formatting

// The hot answers are written by hand, because an encoder costs more than the rest of the request.
extension JSONWriter {
  /// One condition; `confidence` stands in for its own when given, `sparse` leaves out what may be missing, and
  /// `advises` says whether there is a recommendation beside the treatment.
  mutating func condition(
    _ condition: Condition, confidence: String? = nil, sparse: Bool = false, advises: Bool = false
  ) {
    let template = condition.template
    raw("{\"id\":")
    string(template.id)
    raw(",\"name\":")
    string(template.name)
    raw(",\"confidence\":")
    raw(confidence ?? condition.confidence)
    raw(",\"description\":")
    string("\(ConditionCatalogue.notice) \(template.detail)")
    if !sparse {
      raw(",\"isPotentiallySerious\":")
      boolean(template.serious)
      raw(",\"symptoms\":")
      array(template.symptoms) { $0.string($1) }
      raw(",\"recommendConsultation\":")
      boolean(template.consult)
      raw(",\"treatmentInfo\":")
      string(template.treatment)
      if advises {
        raw(",\"recommendationText\":")
        string(template.consult ? "Have it looked at." : "No action needed.")
      }
    }
    raw("}")
  }
}
