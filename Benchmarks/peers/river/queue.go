package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	// Jobs at once, where jobs do nothing, as in River's own benchmark.
	drainWorkers = 2000
	// Jobs at once for each call in flight. A worker claims as many as it may run more, which would be the few that
	// just ended; it therefore may run several times what is in flight, and a semaphore bounds the calls.
	workersPerCall = 4
	// Connections of a worker's own: one listens, one claims, one completes, the rest are for what it does now and
	// then.
	workerConnections = 8
	// The least that it takes. Notifications wake it; how often it looks without one is left as it is, a second.
	fetchCooldown = time.Millisecond
)

// noop is a job that does nothing.
type noop struct{}

func (noop) Kind() string { return "noop" }

// analysis is a whole job.
type analysis struct {
	Image int    `json:"image"`
	User  string `json:"user"`
}

func (analysis) Kind() string { return "analysis" }

// A queue is River in a database.
type queue struct {
	database string
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx] // puts jobs in, and runs none
	settings map[string]any        // what was set, for the line of JSON
}

func openQueue(ctx context.Context, database string) (*queue, error) {
	pool, err := openPool(ctx, database, 1, nil)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.Default()})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &queue{database, pool, client, map[string]any{"driver": "pgx"}}, nil
}

func (q *queue) close() { q.pool.Close() }

// install makes its schema in an empty database.
func (q *queue) install(ctx context.Context) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: slog.Default()})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// put puts in one job, committed when it returns.
func (q *queue) put(ctx context.Context, job river.JobArgs) error {
	_, err := q.client.Insert(ctx, job, nil)
	return err
}

// putMany puts in jobs by its fastest bulk call, committed when it returns.
func (q *queue) putMany(ctx context.Context, jobs []river.InsertManyParams) error {
	_, err := q.client.InsertManyFast(ctx, jobs)
	return err
}

// counts says how many jobs are not completed, and how many are.
func (q *queue) counts(ctx context.Context) (waiting, done int, err error) {
	err = q.pool.QueryRow(ctx,
		"SELECT count(*) FILTER (WHERE state <> 'completed'), count(*) FILTER (WHERE state = 'completed') FROM river_job",
	).Scan(&waiting, &done)
	return waiting, done, err
}

// check fails where it has other jobs than it should.
func (q *queue) check(ctx context.Context, waiting, done int) error {
	foundWaiting, foundDone, err := q.counts(ctx)
	if err == nil && (foundWaiting != waiting || foundDone != done) {
		err = fmt.Errorf("river has %d jobs waiting and %d done, not %d and %d;"+
			" each timed action wants a database of its own, prepared and (drain) filled",
			foundWaiting, foundDone, waiting, done)
	}
	return err
}

// work runs one worker until body returns.
//
// Each job of T is done by function, nil for nothing; count is how many it may run at once.
func work[T river.JobArgs](
	ctx context.Context, q *queue, function func(context.Context, int64, T) error, count int, told *progress,
	body func() error,
) error {
	pool, err := openPool(ctx, q.database, workerConnections, claims{told})
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[T]) error {
		if function == nil {
			return nil
		}
		err := function(ctx, job.ID, job.Args)
		if err != nil {
			told.failed(err)
		}
		return err
	}))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: fetchCooldown,
		// What takes time in a job has deadlines of its own.
		JobTimeout: -1,
		Logger:     slog.Default(),
		Queues:     map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: count}},
		Workers:    workers,
	})
	if err != nil {
		return err
	}
	q.settings["connections"] = workerConnections
	q.settings["max_workers"] = count
	q.settings["fetch_cooldown_ms"] = fetchCooldown.Milliseconds()
	// Room for every event, since it drops what finds none. It tells of a completion after it was committed.
	events, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: told.expected,
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled},
	})
	defer cancel()
	go func() {
		for event := range events {
			if event.Kind == river.EventKindJobCompleted {
				told.committed()
			} else {
				told.failed(fmt.Errorf("job %d is %s", event.Job.ID, event.Job.State))
			}
		}
	}()
	if err := client.Start(ctx); err != nil {
		return err
	}
	err = body()
	if err != nil {
		// The jobs that still run are worth nothing.
		_ = client.StopAndCancel(ctx)
		return err
	}
	return client.Stop(ctx)
}

// claims sees each statement by which River claims jobs before it is sent.
type claims struct{ told *progress }

func (c claims) TraceQueryStart(
	ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData,
) context.Context {
	if strings.HasPrefix(query.SQL, "-- name: JobGetAvailable ") {
		c.told.claiming()
	}
	return ctx
}

func (claims) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
