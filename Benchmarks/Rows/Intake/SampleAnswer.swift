import Foundation

/// Answers of the analysis endpoint, made up but of the usual shape and length.
enum SampleAnswer {
  /// 892 bytes: two conditions, as the endpoint answers most photos.
  static let usual = answer(conditions: 2, filler: usualFiller)

  /// Some 16 KB: thirty conditions with long advice, near the longest that a model is known to give.
  static let long = answer(conditions: 30, filler: 0)

  /// How many letters of the usual answer's source bring it to 892 bytes.
  private static let usualFiller = 892 - answer(conditions: 2, filler: 0).count

  private static func answer(conditions: Int, filler: Int) -> [UInt8] {
    let list = (0..<conditions).map { number in
      #"{"id":"condition_\#(number)","name":"Condition \#(number) of a throat","confidence":0.\#(7812 - number),"#
        + #""description":"Pale areas on a coloured ground\#(conditions > 2 ? more : ".")","symptoms":["Sore throat","#
        + #""Fever","Swollen tonsils"],"isPotentiallySerious":\#(number == 0),"recommendConsultation":true,"#
        + #""treatmentInfo":"A clinician decides\#(conditions > 2 ? more : ".")"}"#
    }
    let source = "stand-in" + String(repeating: "x", count: max(0, filler))
    return Array(
      (#"{"id":"analysis-0123456789abcdef","type":"throat","timestamp":"2025-03-22T12:34:56.789Z","conditions":["#
        + list.joined(separator: ",") + #"],"user_id":"anonymous","model":"stand-in","#
        + #""debug_info":{"data_source":"\#(source)","image_data_length":120000,"processing_time":0.412}}"#)
        .utf8)
  }

  private static let more =
    ", which a clinician looks at again after some days; until then rest, fluids and nothing that is too hot to drink."
}
