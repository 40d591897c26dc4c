import Foundation

/// Bodies of the backend's answers.
enum Samples {
  static let analysis = """
    {"id":"a-1","type":"throat","timestamp":"2025-03-22T12:34:56.789Z","user":"u-7","error":false,
     "debug_info":{"data_source":"model-v3","image_data_length":1234,"processing_time":41.5},
     "conditions":[
      {"id":"strep_throat","name":"Strep Throat","confidence":0.78,"description":"A bacterial infection",
       "symptoms":["Sore throat","Fever"],"isPotentiallySerious":true,"recommendConsultation":true,
       "treatmentInfo":"Antibiotics"},
      {"id":"tonsillitis","name":"Tonsillitis","confidence":0.31}]}
    """

  /// The same of whatever picture was sent, at whatever time.
  static let answer =
    analysis
    .replacing(#""image_data_length":1234,"#, with: "").replacing("2025", with: "2100")

  static let user = """
    {"id":"u-7","email":"service@example.org","name":"Service","subscription":"premium","analysisCount":3,
     "lastResetDate":"2025-03-01T00:00:00.000Z"}
    """

  static func login(_ token: String) -> String { #"{"token":"\#(token)","user":\#(user)}"# }

  /// A JWT with the given claims, its signature made up.
  static func jwt(_ claims: String) -> String {
    func encoded(_ text: String) -> String {
      Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }
    return "\(encoded(#"{"alg":"HS256"}"#)).\(encoded(claims)).c2lnbmF0dXJl"
  }
}
