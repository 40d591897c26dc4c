package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/riverqueue/river"
)

// The actions as in actions.py: each does its work, checks it in the database and returns what it measured.

const (
	// Of fill, which is not timed.
	fillBatch = 1000
	// Between two rounds of latency, with a random part that keeps them out of step with whatever polls: above the
	// 0.25 s after which River writes down at the latest that a job is done, and the 0.1 s for which a client that puts
	// jobs in does not notify again.
	pause       = 300 * time.Millisecond
	pauseSpread = 50 * time.Millisecond
	// So many rounds of latency before the clock: they make connections, plans and caches.
	warmUp = 20
	users       = 100
)

var untimed = map[string]func(context.Context, *queue, options) error{
	"prepare": install, "fill": fill, "fill-whole": fillWhole,
}

var timed = map[string]func(context.Context, *queue, options) (figures, error){
	"enqueue-one": enqueueOne, "enqueue-bulk": enqueueBulk, "drain": drain, "drain-whole": drainWhole,
	"whole": whole, "latency": latency,
}

// install makes River's tables; run.py makes those of the whole job.
func install(ctx context.Context, q *queue, _ options) error { return q.install(ctx) }

func fill(ctx context.Context, q *queue, given options) error {
	return putAll(ctx, q, given.Jobs, func(int) river.JobArgs { return noop{} })
}

func fillWhole(ctx context.Context, q *queue, given options) error {
	return putAll(ctx, q, given.Jobs, wholeJob)
}

func wholeJob(n int) river.JobArgs {
	return analysis{Image: n % imageCount, User: fmt.Sprintf("user-%d", n%users)}
}

func putAll(ctx context.Context, q *queue, count int, job func(int) river.JobArgs) error {
	before, _, err := q.counts(ctx)
	if err != nil {
		return err
	}
	for start := 0; start < count; start += fillBatch {
		batch := make([]river.InsertManyParams, min(fillBatch, count-start))
		for n := range batch {
			batch[n].Args = job(start + n)
		}
		if err := q.putMany(ctx, batch); err != nil {
			return err
		}
	}
	return q.check(ctx, before+count, 0)
}

func enqueueOne(ctx context.Context, q *queue, given options) (figures, error) {
	return enqueue(ctx, q, given, 1, func(int) error { return q.put(ctx, noop{}) })
}

func enqueueBulk(ctx context.Context, q *queue, given options) (figures, error) {
	// All but the last are of the same size, and may be the same list: River does not keep it.
	batch := make([]river.InsertManyParams, given.Batch)
	for n := range batch {
		batch[n].Args = noop{}
	}
	return enqueue(ctx, q, given, given.Batch, func(count int) error { return q.putMany(ctx, batch[:count]) })
}

// enqueue puts all jobs in by calls of put, each of so many.
func enqueue(ctx context.Context, q *queue, given options, each int, put func(count int) error) (figures, error) {
	var measured meter
	measured.begin()
	for start := 0; start < given.Jobs; start += each {
		if err := put(min(each, given.Jobs-start)); err != nil {
			return nil, err
		}
	}
	measured.end()
	if err := q.check(ctx, given.Jobs, 0); err != nil {
		return nil, err
	}
	return measured.result()
}

func drain(ctx context.Context, q *queue, given options) (figures, error) {
	return drainAll[noop](ctx, q, given, nil, drainWorkers)
}

func drainWhole(ctx context.Context, q *queue, given options) (measured figures, err error) {
	err = withStorer(ctx, q.database, func(store analyser) error {
		measured, err = runWhole(ctx, q, given, store, drainWorkers)
		return err
	})
	return measured, err
}

func whole(ctx context.Context, q *queue, given options) (measured figures, err error) {
	err = withAnalyser(ctx, q.database, given.Endpoint, given.InFlight, func(analyse analyser) error {
		slots := make(chan struct{}, given.InFlight)
		bounded := func(ctx context.Context, job int64, args analysis) error {
			slots <- struct{}{}
			defer func() { <-slots }()
			return analyse(ctx, job, args)
		}
		measured, err = runWhole(ctx, q, given, bounded, workersPerCall*given.InFlight)
		return err
	})
	return measured, err
}

func runWhole(ctx context.Context, q *queue, given options, function analyser, count int) (figures, error) {
	measured, err := drainAll(ctx, q, given, function, count)
	if err != nil {
		return nil, err
	}
	return measured, checkResults(ctx, q, given.Jobs)
}

// drainAll runs a worker until all jobs are done.
func drainAll[T river.JobArgs](
	ctx context.Context, q *queue, given options, function func(context.Context, int64, T) error, count int,
) (figures, error) {
	if err := q.check(ctx, given.Jobs, 0); err != nil {
		return nil, err
	}
	var measured meter
	told := newProgress(given.Jobs, &measured)
	if err := work(ctx, q, function, count, told, told.wait); err != nil {
		return nil, err
	}
	if err := q.check(ctx, 0, given.Jobs); err != nil {
		return nil, err
	}
	return measured.result()
}

func latency(ctx context.Context, q *queue, given options) (measured figures, err error) {
	err = withAnalyser(ctx, q.database, given.Endpoint, 1, func(analyse analyser) error {
		measured, err = runLatency(ctx, q, given, analyse)
		return err
	})
	return measured, err
}

func runLatency(ctx context.Context, q *queue, given options, analyse analyser) (figures, error) {
	var puts, begins []time.Time
	started := make(chan struct{}, 1)
	function := func(ctx context.Context, job int64, args analysis) error {
		begins = append(begins, time.Now())
		err := analyse(ctx, job, args)
		started <- struct{}{}
		return err
	}
	var measured meter
	rounds := warmUp + given.Rounds
	told := newProgress(rounds, nil)
	err := work(ctx, q, function, drainWorkers, told, func() error {
		for n := range rounds {
			time.Sleep(pause + rand.N(pauseSpread))
			if n == warmUp {
				measured.begin()
			}
			puts = append(puts, time.Now())
			if err := q.put(ctx, wholeJob(n)); err != nil {
				return err
			}
			select {
			case <-started:
			case <-time.After(30 * time.Second):
				return fmt.Errorf("a job did not start in 30 s")
			}
		}
		err := told.wait()
		measured.end()
		return err
	})
	if err != nil {
		return nil, err
	}
	waiting, _, err := q.counts(ctx)
	if err != nil {
		return nil, err
	}
	arrivals, err := arrivals(ctx, q.pool)
	if err != nil {
		return nil, err
	}
	if waiting > 0 || len(arrivals) != rounds {
		return nil, fmt.Errorf("river ran %d jobs of %d, and %d wait", len(arrivals), rounds, waiting)
	}
	found, err := measured.result()
	if err != nil {
		return nil, err
	}
	untilRequest, untilFunction := since(puts, arrivals), since(puts, begins)
	if slices.Min(untilRequest) < 0 {
		return nil, errors.New("the clock was set back, or jobs did not run in their order")
	}
	times := percentiles(untilRequest)
	times["until_function_p50"] = percentiles(untilFunction)["p50"]
	found["latency_ms"] = times
	return found, nil
}

// since is what lies between times, behind the first rounds.
func since(begins, ends []time.Time) []time.Duration {
	spans := make([]time.Duration, len(begins))
	for n, begin := range begins {
		spans[n] = ends[n].Sub(begin)
	}
	return spans[warmUp:]
}

func checkResults(ctx context.Context, q *queue, count int) error {
	var stored, complete int
	err := q.pool.QueryRow(ctx, `
		SELECT count(*),
		 count(*) FILTER (WHERE jsonb_array_length(conditions) > 0 AND primary_band IS NOT NULL)
		FROM peer_result`).Scan(&stored, &complete)
	if err == nil && (stored != count || complete != count) {
		err = fmt.Errorf("%d results, %d of them whole, for %d jobs", stored, complete, count)
	}
	return err
}
