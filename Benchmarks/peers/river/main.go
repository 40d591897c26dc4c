// Runs one action of River, as run.py does of the peers in Python. That has read the command line and hands over what
// it found as one argument, a JSON object.
//
// Prints one line of JSON on standard output for a timed action; everything else goes to standard error.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
)

type options struct {
	Database string `json:"database"` // libpq's keywords
	Action   string `json:"action"`
	Jobs     int    `json:"jobs"`
	Batch    int    `json:"batch"`
	InFlight int    `json:"in_flight"`
	Endpoint string `json:"endpoint"`
	Rounds   int    `json:"rounds"`
}

func main() {
	// River's own log goes to standard output by default, which is for the result.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var given options
	if len(os.Args) != 2 {
		return fmt.Errorf("run.py runs this, with its options as one argument")
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		return err
	}
	queue, err := openQueue(ctx, given.Database)
	if err != nil {
		return err
	}
	defer queue.close()
	if act, is := untimed[given.Action]; is {
		return act(ctx, queue, given)
	}
	act, is := timed[given.Action]
	if !is {
		return fmt.Errorf("there is no action %q", given.Action)
	}
	measured, err := act(ctx, queue, given)
	if err != nil {
		return err
	}
	measured["peer"] = "river"
	measured["version"] = riverVersion()
	measured["action"] = given.Action
	measured["jobs"] = given.Jobs
	if given.Action == "latency" {
		measured["jobs"] = given.Rounds
	}
	measured["settings"] = queue.settings
	return json.NewEncoder(os.Stdout).Encode(measured)
}

func riverVersion() string {
	build, _ := debug.ReadBuildInfo()
	for _, module := range build.Deps {
		if module.Path == "github.com/riverqueue/river" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}
