package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// What an action measured, by the names that it has in the line of JSON.
type figures map[string]any

// meter has the time and CPU of this process from begin to end; a second begin changes nothing, so that the first
// claim counts.
type meter struct {
	mutex   sync.Mutex
	begun   bool
	began   time.Time
	cpu     time.Duration
	elapsed time.Duration
	used    time.Duration
}

func (m *meter) begin() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.begun {
		m.begun, m.began, m.cpu = true, time.Now(), cpuTime()
	}
}

func (m *meter) end() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.elapsed, m.used = time.Since(m.began), cpuTime()-m.cpu
}

func (m *meter) result() (figures, error) {
	if !m.begun {
		return nil, errors.New("the work ended before it began")
	}
	peak, err := peakRSS()
	if err != nil {
		return nil, err
	}
	return figures{
		"seconds": rounded(m.elapsed.Seconds(), 6), "cpu_seconds": rounded(m.used.Seconds(), 6),
		"peak_rss_bytes": peak,
	}, nil
}

// A worker that completes nothing for so long is stuck.
const patience = 300 * time.Second

// progress is how far a worker has come: it is told of the first claim, of completions and of failures.
type progress struct {
	meter    *meter // nil where completions are not timed
	expected int
	done     chan struct{} // receives one for each completion
	failure  chan error
}

func newProgress(expected int, timed *meter) *progress {
	return &progress{
		meter: timed, expected: expected, done: make(chan struct{}, expected), failure: make(chan error, 1),
	}
}

// claiming is called before each claim.
func (p *progress) claiming() {
	if p.meter != nil {
		p.meter.begin()
	}
}

// committed is called when the completion of a job is committed.
func (p *progress) committed() { p.done <- struct{}{} }

// failed is called when a job failed: no number of a run with failures is worth anything.
func (p *progress) failed(err error) {
	select {
	case p.failure <- err:
	default:
	}
}

// wait returns when all jobs are done.
func (p *progress) wait() error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for completed := 0; completed < p.expected; completed++ {
		select {
		case <-p.done:
			timer.Reset(patience)
		case err := <-p.failure:
			return fmt.Errorf("a job failed: %w", err)
		case <-timer.C:
			return fmt.Errorf("no job was completed for %s; %d of %d are done", patience, completed, p.expected)
		}
	}
	if p.meter != nil {
		p.meter.end()
	}
	return nil
}

// percentiles are p50, p95 and p99 in milliseconds, by nearest rank.
func percentiles(times []time.Duration) map[string]float64 {
	ordered := slices.Sorted(slices.Values(times))
	rank := func(percent int) float64 {
		index := max(0, (percent*len(ordered)+99)/100-1)
		return rounded(ordered[index].Seconds()*1000, 4)
	}
	return map[string]float64{"p50": rank(50), "p95": rank(95), "p99": rank(99)}
}

// peakRSS is VmHWM as with the other peers, which begins anew with each program.
func peakRSS() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		var kilobytes int64
		if _, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes * 1024, nil
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}

// cpuTime is the user and system time of all threads of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func rounded(number float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(number*scale) / scale
}
