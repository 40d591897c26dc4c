package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Results in a statement at most, as many as our worker stores at once.
const resultBatch = 100

const storeResults = `
INSERT INTO peer_result (job_id, user_id, analysis_id, primary_id, primary_name, primary_confidence,
  primary_band, secondary_id, secondary_name, secondary_confidence, secondary_band, conditions)
SELECT a, b, c, d, e, f, g, h, i, j, k, l::jsonb
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::text[],
  $9::text[], $10::float8[], $11::text[], $12::text[]) r (a, b, c, d, e, f, g, h, i, j, k, l)
`

// result is a row, and who waits until it is committed.
type result struct {
	job       int64
	user      string
	columns   columns
	committed chan error
}

// results stores them many in a statement: all that came while the one before was on its way.
type results struct {
	pool    *pgxpool.Pool
	waiting chan result
}

func newResults(ctx context.Context, pool *pgxpool.Pool) *results {
	r := &results{pool, make(chan result, resultBatch)}
	go r.write(ctx)
	return r
}

// store returns when the result is committed.
func (r *results) store(job int64, user string, found columns) error {
	committed := make(chan error, 1)
	r.waiting <- result{job, user, found, committed}
	return <-committed
}

// close ends the writer, when nobody stores any more.
func (r *results) close() { close(r.waiting) }

func (r *results) write(ctx context.Context) {
	batch := make([]result, 0, resultBatch)
	for first := range r.waiting {
		batch = append(batch[:0], first)
		for full := false; !full && len(batch) < resultBatch; {
			select {
			case next, open := <-r.waiting:
				if full = !open; open {
					batch = append(batch, next)
				}
			default:
				full = true
			}
		}
		err := r.insert(ctx, batch)
		for _, stored := range batch {
			stored.committed <- err
		}
	}
}

func (r *results) insert(ctx context.Context, batch []result) error {
	count := len(batch)
	jobs, users, analyses, conditions :=
		make([]int64, count), make([]string, count), make([]string, count), make([]string, count)
	var shown [2]struct {
		ids, names, bands []*string
		confidences       []*float64
	}
	for n := range shown {
		shown[n].ids, shown[n].names, shown[n].bands =
			make([]*string, count), make([]*string, count), make([]*string, count)
		shown[n].confidences = make([]*float64, count)
	}
	for row, stored := range batch {
		jobs[row], users[row] = stored.job, stored.user
		analyses[row], conditions[row] = stored.columns.analysis, stored.columns.conditions
		for n, one := range stored.columns.shown {
			shown[n].ids[row], shown[n].names[row] = one.id, one.name
			shown[n].confidences[row], shown[n].bands[row] = one.confidence, one.band
		}
	}
	first, second := shown[0], shown[1]
	_, err := r.pool.Exec(ctx, storeResults, jobs, users, analyses,
		first.ids, first.names, first.confidences, first.bands,
		second.ids, second.names, second.confidences, second.bands, conditions)
	return err
}
