import Support

/// The conditions the stand-in can name, and how the colours of a picture speak for each.
enum ConditionCatalogue {
  static let notice = "Stand-in computed from the picture's colours; not a medical finding."

  /// Two or three conditions, the likeliest first; the same for the same statistics.
  static func conditions(_ kind: AnalysisKind, _ picture: ColourStatistics) -> [AnsweredCondition] {
    let scored = scores(kind, picture).map { template, score in
      AnsweredCondition(
        template: template, tenThousandths: Int((min(max(score, 0.01), 0.99) * 10_000).rounded()))
    }.sorted { ($1.tenThousandths, $0.template.id) < ($0.tenThousandths, $1.template.id) }
    return Array(scored.prefix(scored[2].tenThousandths >= 1500 ? 3 : 2))
  }

  private static func scores(
    _ kind: AnalysisKind, _ picture: ColourStatistics
  ) -> [(ConditionTemplate, Double)] {
    let first: (ConditionTemplate, Double)
    let second: (ConditionTemplate, Double)
    let third: (ConditionTemplate, Double)
    switch kind {
    case .throat:
      first = (throatRedness, 2.2 * picture.redness + 0.2 * picture.contrast)
      second = (whitePatches, 1.6 * picture.pale + 0.3 * picture.contrast)
      third = (throatSwelling, 0.9 * picture.dark + 0.8 * picture.redness)
    case .ear:
      first = (earRedness, 2.2 * picture.redness + 0.2 * picture.contrast)
      second = (earWax, 1.8 * picture.yellowness + 0.3 * picture.dark)
      third = (earFluid, 1.2 * picture.pale + 0.4 * picture.brightness)
    }
    let strongest = max(first.1, second.1, third.1)
    return [first, second, third, (normal, 0.95 - strongest)]
  }

  static let normal = ConditionTemplate(
    id: "normal", name: "No visible finding", detail: "No colour stands out.", symptoms: [], serious: false,
    consult: false, treatment: "None.")

  private static let throatRedness = ConditionTemplate(
    id: "throat_redness", name: "Throat redness (pharyngitis-like)", detail: "Much of the picture is red.",
    symptoms: ["Sore throat", "Pain when swallowing", "Red throat"], serious: false, consult: true,
    treatment: "Rest and fluids.")
  private static let whitePatches = ConditionTemplate(
    id: "white_patches", name: "Pale patches (tonsillitis-like)", detail: "Pale areas on a coloured ground.",
    symptoms: ["White or yellow patches", "Fever", "Swollen tonsils"], serious: true, consult: true,
    treatment: "A clinician decides.")
  private static let throatSwelling = ConditionTemplate(
    id: "throat_swelling", name: "Narrow opening (swelling-like)",
    detail: "Large dark areas beside red ones.",
    symptoms: ["Muffled voice", "Difficulty swallowing"], serious: true, consult: true,
    treatment: "A clinician decides.")
  private static let earRedness = ConditionTemplate(
    id: "ear_redness", name: "Eardrum redness (otitis-like)", detail: "Much of the picture is red.",
    symptoms: ["Ear pain", "Reduced hearing", "Fever"], serious: true, consult: true,
    treatment: "A clinician decides.")
  private static let earWax = ConditionTemplate(
    id: "ear_wax", name: "Yellow or brown matter (wax-like)", detail: "Yellow tones prevail.",
    symptoms: ["Feeling of fullness", "Reduced hearing"], serious: false, consult: false,
    treatment: "Softening drops.")
  private static let earFluid = ConditionTemplate(
    id: "ear_fluid", name: "Bright reflex (fluid-like)", detail: "Bright, pale areas prevail.",
    symptoms: ["Muffled hearing", "Popping sounds"], serious: false, consult: true,
    treatment: "Watchful waiting.")
}
