// Submits throat.jpg of its folder, asks until the job has ended, and prints what was found. See ../sql.md.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v4"
)

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	check(err)
	defer db.Close(ctx)
	image, err := os.ReadFile("throat.jpg")
	check(err)

	var outcome string
	var reason, argument *string
	var job *int64
	check(db.QueryRow(ctx,
		"SELECT outcome, reason, argument, job_id FROM analysis.submit_images($1, $2, $3, $4)",
		[]string{"u1"}, []string{"throat"}, [][]byte{image}, []string{"go-4711"},
	).Scan(&outcome, &reason, &argument, &job))
	if outcome == "refused" {
		log.Fatalf("refused: %s", *reason)
	}

	var state string
	var message *string
	for {
		check(db.QueryRow(ctx, "SELECT state, message FROM analysis.job_state($1, $2)", "u1", *job).
			Scan(&state, &message))
		if state == "succeeded" || state == "dead" || state == "cancelled" {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Println(*job, state)
	if state != "succeeded" {
		return
	}

	var reading string
	var name, band *string // NULL where no condition was found
	check(db.QueryRow(ctx, "SELECT analysis.open_results($1, $2)", "u1", []int64{*job}).Scan(&reading))
	check(db.QueryRow(ctx, "SELECT primary_name, primary_band FROM analysis.analyses_of($1, $2)", "u1", reading).
		Scan(&name, &band))
	if name != nil && band != nil {
		fmt.Println(*name, *band)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
