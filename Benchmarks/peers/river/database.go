package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// So many pictures are shared by all jobs, as database.py makes them.
const imageCount = 200

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error)
}

// openPool makes all connections at once, so that none is made while the clock runs.
func openPool(ctx context.Context, database string, size int32, tracer pgx.QueryTracer) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	config.MinConns, config.MaxConns = size, size
	config.ConnConfig.Tracer = tracer
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	var taken []*pgxpool.Conn
	for range size {
		connection, failure := pool.Acquire(ctx)
		if failure != nil {
			err = failure
			break
		}
		taken = append(taken, connection)
	}
	for _, connection := range taken {
		connection.Release()
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// arrivals says when the endpoint had each request, in that order: that of latency answers so, in nanoseconds.
func arrivals(ctx context.Context, database querier) ([]time.Time, error) {
	rows, err := database.Query(ctx, "SELECT analysis_id::bigint FROM peer_result ORDER BY 1")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (time.Time, error) {
		var nanoseconds int64
		err := row.Scan(&nanoseconds)
		return time.Unix(0, nanoseconds), err
	})
}

// withPicture lends the bytes of a picture, without a copy of them, until body returns.
func withPicture(ctx context.Context, database querier, number int, body func([]byte)) error {
	rows, err := database.Query(ctx, "SELECT bytes FROM peer_image WHERE id = $1", number)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return errors.Join(rows.Err(), errors.New("there is no such picture"))
	}
	var content pgtype.DriverBytes
	if err := rows.Scan(&content); err != nil {
		return err
	}
	body(content)
	rows.Close()
	return rows.Err()
}
