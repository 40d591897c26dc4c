/// A format that is not accepted but recognised, so that the refusal can name it.
struct ForeignFormat: Equatable {
  /// The short name: `HEIC`.
  let name: String
  /// The name as it stands after "The file is": `a HEIC picture`.
  let sentence: String
  /// What to do about it.
  let advice: String

  init(_ name: String, _ sentence: String, advice: String = "Save or export it as JPEG, and submit that.") {
    self.name = name
    self.sentence = sentence
    self.advice = advice
  }

  static func picture(_ name: String) -> ForeignFormat {
    ForeignFormat(name, "a \(name) picture")
  }

  static let heic = ForeignFormat(
    "HEIC", "a HEIC picture",
    advice: "Export it as JPEG (an iPhone takes JPEG itself with Settings, Camera, Formats, Most "
      + "Compatible), and submit that.")
  static let avif = ForeignFormat("AVIF", "an AVIF picture")
  static let icon = ForeignFormat("ICO", "an ICO icon")
  static let video = ForeignFormat(
    "video", "a video", advice: "Take a still picture from it, save that as JPEG, and submit it.")
  static let dicom = ForeignFormat("DICOM", "a DICOM medical file")
  static let pdf = ForeignFormat(
    "PDF", "a PDF document", advice: "Export the picture in it as JPEG, and submit that.")
  static let archive = ForeignFormat(
    "ZIP", "a ZIP archive or an office document",
    advice: "Take the pictures out of it, and submit each as JPEG or PNG.")
  static let html = ForeignFormat(
    "HTML", "a web page (HTML)",
    advice: "It may be an error page saved in the picture's place: fetch the picture itself again.")
  static let text = ForeignFormat(
    "text", "text", advice: "Check which file was meant, and submit the picture itself.")
}
