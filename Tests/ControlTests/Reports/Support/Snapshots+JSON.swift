@testable import Control

extension Snapshots {
  static func json(_ kind: ReportKind) -> String {
    switch kind {
    case .usage:
      #"""
      {"data":[
      {"user":"=1+1","month":"2020-10","line":"month","plan":"free","plan_name":"Basic","limit":2,\#
      "used":1,"remaining":1,"over":0,"analysed":1,"open":0,"failed":0,"cancelled":0,"refunded":0,\#
      "refused":0,"calls":1,"last_reset":"2020-10-01T00:00:00+00:00","zone":"UTC"},
      {"user":"ana","month":"2020-10","line":"month","plan":"free","plan_name":"Basic","limit":2,\#
      "used":4,"remaining":0,"over":2,"analysed":3,"open":1,"failed":1,"cancelled":1,"refunded":2,\#
      "refused":3,"calls":6,"last_reset":"2020-09-30T17:00:00+00:00","zone":"Asia/Jakarta"},
      {"user":"bob","month":"2020-10","line":"month","plan":"premium","plan_name":"Premium",\#
      "limit":null,"used":3,"remaining":null,"over":0,"analysed":2,"open":1,"failed":0,"cancelled":0,\#
      "refunded":0,"refused":0,"calls":3,"last_reset":"2020-10-01T04:00:00+00:00",\#
      "zone":"America/New_York"},
      {"user":"zoë, \"Z\"","month":"2020-10","line":"month","plan":"free","plan_name":"Basic","limit":2,\#
      "used":0,"remaining":2,"over":0,"analysed":0,"open":0,"failed":0,"cancelled":0,"refunded":0,\#
      "refused":0,"calls":0,"last_reset":"2020-10-01T00:00:00+00:00","zone":"UTC"}
      ],
      "meta":{"report":"usage","month":"2020-10","zone":"UTC","state":"draft","rows":4,\#
      "generated_at":"2020-11-02T03:04:05Z"}}

      """#
    case .analyses:
      #"""
      {"data":[
      {"job":"101","user":"ana","kind":"throat","primary_id":"tonsillitis","primary_name":"Tonsillitis",\#
      "primary_confidence":0.85,"primary_percentage":"85%","primary_band":"red","primary_normal":false,\#
      "secondary_id":"pharyngitis","secondary_name":"Pharyngitis","secondary_confidence":0.45,\#
      "secondary_percentage":"45%","secondary_band":"yellow","secondary_normal":false,"conditions":2,\#
      "serious":true,"consult":true,\#
      "endpoint_serious":true,"endpoint_consult":true,"attempt":1,"calls":1,"analysis":"a-101","endpoint":"main",\#
      "model":"m1","answered_at":"2020-10-31T18:29:59+00:00","finished_at":"2020-10-31T18:30:00+00:00"},
      {"job":"102","user":"ana","kind":"throat","primary_id":"normal","primary_name":"Normal",\#
      "primary_confidence":0.95,"primary_percentage":"95%","primary_band":"red","primary_normal":true,\#
      "secondary_id":null,"secondary_name":null,"secondary_confidence":null,"secondary_percentage":null,\#
      "secondary_band":null,"secondary_normal":null,"conditions":1,"serious":false,"consult":false,\#
      "endpoint_serious":false,"endpoint_consult":true,\#
      "attempt":1,"calls":1,"analysis":"a-102","endpoint":"main","model":null,"answered_at":null,\#
      "finished_at":"2020-10-02T00:00:00+00:00"},
      {"job":"103","user":"ana","kind":"ear","primary_id":"otitis","primary_name":"Otitis media",\#
      "primary_confidence":0.7999,"primary_percentage":"79%","primary_band":"orange",\#
      "primary_normal":false,"secondary_id":"tonsillitis","secondary_name":"Tonsillitis",\#
      "secondary_confidence":0.3,"secondary_percentage":"30%","secondary_band":"green",\#
      "secondary_normal":false,"conditions":2,"serious":false,"consult":null,\#
      "endpoint_serious":true,"endpoint_consult":null,"attempt":3,"calls":2,\#
      "analysis":"a-103","endpoint":"main","model":"m2","answered_at":null,\#
      "finished_at":"2020-10-03T00:00:00+00:00"},
      {"job":"201","user":"bob","kind":"ear","primary_id":null,"primary_name":null,\#
      "primary_confidence":null,"primary_percentage":null,"primary_band":null,"primary_normal":null,\#
      "secondary_id":null,"secondary_name":null,"secondary_confidence":null,"secondary_percentage":null,\#
      "secondary_band":null,"secondary_normal":null,"conditions":0,"serious":null,"consult":null,\#
      "endpoint_serious":null,"endpoint_consult":null,\#
      "attempt":1,"calls":1,"analysis":"a-201","endpoint":"main","model":null,"answered_at":null,\#
      "finished_at":"2020-10-31T12:00:00+00:00"},
      {"job":"202","user":"bob","kind":"throat","primary_id":"tonsillitis",\#
      "primary_name":"Tonsillitis acuta","primary_confidence":0.6,"primary_percentage":"60%",\#
      "primary_band":"orange","primary_normal":false,"secondary_id":"pharyngitis",\#
      "secondary_name":"Pharyngitis","secondary_confidence":0.1,"secondary_percentage":"10%",\#
      "secondary_band":"green","secondary_normal":false,"conditions":3,"serious":null,"consult":null,\#
      "endpoint_serious":null,"endpoint_consult":null,\#
      "attempt":2,"calls":1,"analysis":"a-202","endpoint":"main","model":null,\#
      "answered_at":"2020-11-02T11:59:59+00:00","finished_at":"2020-11-02T12:00:00+00:00"},
      {"job":"301","user":"=1+1","kind":"ear","primary_id":"otitis",\#
      "primary_name":"=HYPERLINK(\"http://x\",\"y\")","primary_confidence":0.8,\#
      "primary_percentage":"80%","primary_band":"red","primary_normal":false,"secondary_id":null,\#
      "secondary_name":null,"secondary_confidence":null,"secondary_percentage":null,\#
      "secondary_band":null,"secondary_normal":null,"conditions":1,"serious":null,"consult":true,\#
      "endpoint_serious":null,"endpoint_consult":true,\#
      "attempt":1,"calls":1,"analysis":"a-301","endpoint":"main","model":null,"answered_at":null,\#
      "finished_at":"2020-10-20T00:00:00+00:00"}
      ],
      "meta":{"report":"analyses","month":"2020-10","zone":"UTC","state":"draft","rows":6,\#
      "generated_at":"2020-11-02T03:04:05Z"}}

      """#
    case .conditions:
      #"""
      {"data":[
      {"month":"2020-10","condition":"otitis","name":"=HYPERLINK(\"http://x\",\"y\")","normal":false,\#
      "green":0,"yellow":0,"orange":1,"red":1,"total":2},
      {"month":"2020-10","condition":"pharyngitis","name":"Pharyngitis","normal":false,"green":1,\#
      "yellow":1,"orange":0,"red":0,"total":2},
      {"month":"2020-10","condition":"tonsillitis","name":"Tonsillitis","normal":false,"green":1,\#
      "yellow":0,"orange":1,"red":1,"total":3},
      {"month":"2020-10","condition":"normal","name":"Normal","normal":true,"green":1,"yellow":0,\#
      "orange":0,"red":1,"total":2}
      ],
      "meta":{"report":"conditions","month":"2020-10","zone":"UTC","state":"draft","rows":4,\#
      "generated_at":"2020-11-02T03:04:05Z"}}

      """#
    case .summary:
      "{\"data\":[\n"
        + totals.map { "{\"measure\":\"\($0)\",\"value\":\($1)}" }.joined(separator: ",\n")
          + #"""

          ],
          "meta":{"report":"summary","month":"2020-10","zone":"UTC","state":"draft","rows":22,\#
          "generated_at":"2020-11-02T03:04:05Z"}}

          """#
    case .agreement:
      #"""
      {"data":[
      {"row":"condition","condition":"otitis","name":"Otitis media","normal":false,"band":"orange",\#
      "agree":0,"disagree":0,"unsure":1,"persons":1,"agreement":null,"low":null,"high":null},
      {"row":"condition","condition":"otitis","name":"=HYPERLINK(\"http://x\",\"y\")","normal":false,\#
      "band":"red","agree":1,"disagree":0,"unsure":0,"persons":1,"agreement":1.0,"low":0.2065,"high":1.0},
      {"row":"condition","condition":"tonsillitis","name":"Tonsillitis acuta","normal":false,\#
      "band":"orange","agree":0,"disagree":1,"unsure":0,"persons":1,"agreement":0.0,"low":0.0,\#
      "high":0.7935},
      {"row":"condition","condition":"tonsillitis","name":"Tonsillitis","normal":false,"band":"red",\#
      "agree":1,"disagree":1,"unsure":0,"persons":1,"agreement":0.5,"low":0.0945,"high":0.9055},
      {"row":"condition","condition":"normal","name":"Normal","normal":true,"band":"red","agree":1,\#
      "disagree":0,"unsure":0,"persons":1,"agreement":1.0,"low":0.2065,"high":1.0},
      {"row":"none","condition":null,"name":null,"normal":null,"band":null,"agree":1,"disagree":0,\#
      "unsure":0,"persons":1,"agreement":1.0,"low":0.2065,"high":1.0},
      {"row":"all","condition":null,"name":null,"normal":null,"band":null,"agree":4,"disagree":2,\#
      "unsure":1,"persons":3,"agreement":0.6667,"low":0.3,"high":0.9032}
      ],
      "meta":{"report":"agreement","from":"2020-10","to":"2020-10","rows":7,\#
      "generated_at":"2020-11-02T03:04:05Z"}}

      """#
    case .calibration:
      #"""
      {"data":[
      {"from":0.0,"to":0.1,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.1,"to":0.2,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.2,"to":0.3,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.3,"to":0.4,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.4,"to":0.5,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.5,"to":0.6,"confidence":null,"agree":0,"disagree":0,"unsure":0,"persons":0,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.6,"to":0.7,"confidence":0.6,"agree":0,"disagree":1,"unsure":0,"persons":1,\#
      "agreement":0.0,"low":0.0,"high":0.7935,"error":0.6},
      {"from":0.7,"to":0.8,"confidence":null,"agree":0,"disagree":0,"unsure":1,"persons":1,\#
      "agreement":null,"low":null,"high":null,"error":null},
      {"from":0.8,"to":0.9,"confidence":0.8333,"agree":2,"disagree":1,"unsure":0,"persons":2,\#
      "agreement":0.6667,"low":0.2077,"high":0.9385,"error":0.1667},
      {"from":0.9,"to":1.0,"confidence":0.95,"agree":1,"disagree":0,"unsure":0,"persons":1,\#
      "agreement":1.0,"low":0.2065,"high":1.0,"error":0.05},
      {"from":null,"to":null,"confidence":0.81,"agree":3,"disagree":2,"unsure":1,"persons":3,\#
      "agreement":0.6,"low":0.2307,"high":0.8824,"error":0.23}
      ],
      "meta":{"report":"calibration","from":"2020-10","to":"2020-10","rows":11,\#
      "generated_at":"2020-11-02T03:04:05Z"}}

      """#
    }
  }
}
