// Submits throat.jpg of its folder, asks until the job has ended, and prints what was found. See ../sql.md.
const fs = require("fs");
const { Client } = require("pg");

async function main() {
  const db = new Client({ connectionString: process.env.DATABASE_URL });
  await db.connect();
  const submitted = await db.query(
    "SELECT outcome, reason, argument, job_id FROM analysis.submit_images($1, $2, $3, $4)",
    [["u1"], ["throat"], [fs.readFileSync("throat.jpg")], ["javascript-4711"]],
  );
  const { outcome, reason, argument, job_id: job } = submitted.rows[0];
  if (outcome === "refused") throw new Error(`refused: ${reason} ${argument}`);
  let row;
  for (;;) {
    const asked = await db.query("SELECT state, message FROM analysis.job_state($1, $2)", ["u1", job]);
    row = asked.rows[0];
    if (["succeeded", "dead", "cancelled"].includes(row.state)) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  console.log(job, row.state, row.message || "");
  if (row.state === "succeeded") {
    const opened = await db.query("SELECT analysis.open_results($1, $2) AS reading", ["u1", [job]]);
    const found = await db.query(
      "SELECT primary_name, primary_band FROM analysis.analyses_of($1, $2)",
      ["u1", opened.rows[0].reading],
    );
    for (const row of found.rows) console.log(row.primary_name, row.primary_band);
  }
  await db.end();
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
