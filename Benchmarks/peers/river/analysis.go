package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The whole job as in analysis.py: read the picture, upload it, check the answer, store the result.

const (
	kind = "throat"
	// The deadline of a call; the default of analysis-worker.
	deadline = 120 * time.Second
	// Connections for pictures and results, beside River's own.
	imageConnections = 16
	boundary         = "form-2k9x7q4v1m8zt-1c5r3w6n0y7hb"
	form             = "multipart/form-data; boundary=" + boundary
	beforePicture    = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\n" + kind + "\r\n" +
		"--" + boundary + "\r\nContent-Disposition: form-data; name=\"image\"; filename=\"image.jpg\"\r\n" +
		"Content-Type: image/jpeg\r\n\r\n"
	afterPicture = "\r\n--" + boundary + "--\r\n"
)

type answer struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Error      json.RawMessage `json:"error"`
	Conditions []condition     `json:"conditions"`
}

type condition struct {
	ID                    string   `json:"id"`
	Name                  string   `json:"name"`
	Confidence            float64  `json:"confidence"`
	Description           string   `json:"description"`
	IsPotentiallySerious  bool     `json:"isPotentiallySerious"`
	Symptoms              []string `json:"symptoms"`
	RecommendConsultation bool     `json:"recommendConsultation"`
	TreatmentInfo         string   `json:"treatmentInfo"`
	RecommendationText    string   `json:"recommendationText,omitempty"`
	IsError               bool     `json:"isError,omitempty"`
	Band                  string   `json:"band"`
}

// columns are those of a result from the analysis to the conditions; of a condition that is not there all are nil.
type columns struct {
	analysis   string
	shown      [2]shownCondition
	conditions string
}

type shownCondition struct {
	id, name   *string
	confidence *float64
	band       *string
}

// analyser does a job, which has an id and a content.
type analyser = func(ctx context.Context, job int64, args analysis) error

// withAnalyser lends the function of a whole job.
func withAnalyser(
	ctx context.Context, database, endpoint string, inFlight int, body func(analyser) error,
) error {
	pool, err := openPool(ctx, database, int32(min(imageConnections, inFlight)), nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	stored := newResults(ctx, pool)
	defer stored.close()
	transport := &http.Transport{
		MaxConnsPerHost: inFlight, MaxIdleConns: inFlight, MaxIdleConnsPerHost: inFlight,
		IdleConnTimeout: time.Minute, DisableCompression: true,
		// Room for a request: by default a picture goes in writes of 4 kB.
		WriteBufferSize: 128 << 10,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: deadline}
	url := strings.TrimRight(endpoint, "/") + "/api/analyze"

	return body(func(ctx context.Context, job int64, args analysis) error {
		var content []byte
		err := withPicture(ctx, pool, args.Image, func(picture []byte) {
			content = slices.Concat([]byte(beforePicture), picture, []byte(afterPicture))
		})
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(content))
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "application/json")
		request.Header.Set("Content-Type", form)
		request.Header.Set("Idempotency-Key", fmt.Sprintf("%s-0-%d", kind, job))
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return err
		}
		found, err := read(response.StatusCode, text)
		if err != nil {
			return err
		}
		return stored.store(job, args.User, found)
	})
}

// withStorer lends a function that stores a whole analysis, and asks nobody for it.
func withStorer(ctx context.Context, database string, body func(analyser) error) error {
	pool, err := openPool(ctx, database, 1, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	stored := newResults(ctx, pool)
	defer stored.close()
	sample := sampleColumns()
	return body(func(_ context.Context, job int64, args analysis) error {
		return stored.store(job, args.User, sample)
	})
}

// read takes the columns out of an answer; it fails where that is no valid analysis.
func read(status int, text []byte) (columns, error) {
	if status < 200 || status > 299 {
		return columns{}, fmt.Errorf("the endpoint answered %d", status)
	}
	var found answer
	if err := json.Unmarshal(text, &found); err != nil {
		return columns{}, err
	}
	if hasError := len(found.Error) > 0 && string(found.Error) != "null"; hasError || found.Type != kind {
		return columns{}, errors.New("the endpoint answered a failure, or an analysis of another type")
	}
	for n := range found.Conditions {
		one := &found.Conditions[n]
		if one.IsError || one.Confidence < 0 || one.Confidence > 1 {
			return columns{}, errors.New("the endpoint answered a condition that is none")
		}
		one.Band = band(one.Confidence)
	}
	conditions, err := json.Marshal(found.Conditions)
	if err != nil {
		return columns{}, err
	}
	row := columns{analysis: found.ID, conditions: string(conditions)}
	for n := range found.Conditions[:min(2, len(found.Conditions))] {
		one := &found.Conditions[n]
		row.shown[n] = shownCondition{&one.ID, &one.Name, &one.Confidence, &one.Band}
	}
	return row, nil
}

func band(confidence float64) string {
	switch {
	case confidence >= 0.8:
		return "red"
	case confidence >= 0.6:
		return "orange"
	case confidence >= 0.4:
		return "yellow"
	default:
		return "green"
	}
}

// sampleColumns is what is stored where no model is asked: the analysis of our own drain, some 1 kB.
func sampleColumns() columns {
	row := columns{analysis: "a"}
	var conditions []string
	for n, one := range []struct {
		id, name   string
		confidence float64
	}{{"tonsillitis", "Tonsillitis", 0.83}, {"pharyngitis", "Pharyngitis", 0.41}, {"normal", "Normal", 0.07}} {
		color := band(one.confidence)
		if n < len(row.shown) {
			row.shown[n] = shownCondition{&one.id, &one.name, &one.confidence, &color}
		}
		conditions = append(conditions, fmt.Sprintf(`{"id":%q,"name":%q,"confidence":%v,"isPotentiallySerious":false,`+
			`"explanation":"An inflammation of the back of the throat, mostly by a virus, that goes by itself.",`+
			`"symptoms":["sore throat","fever","painful swallowing"],"recommendsConsultation":%t,`+
			`"treatment":"Rest, fluids, and something against the pain.","isNormal":%t,"band":%q}`,
			one.id, one.name, one.confidence, one.confidence > 0.8, one.id == "normal", color))
	}
	row.conditions = "[" + strings.Join(conditions, ",") + "]"
	return row
}
