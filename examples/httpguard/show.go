package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
)

// answer is what a client got.
type answer struct {
	status     int
	retryAfter string
	body       string
	took       time.Duration
	err        error
}

// ask sends a request to a node. path is that of the order, with a query.
func (e *example) ask(ctx context.Context, n *node, path string) (a answer) {
	began := time.Now()
	defer func() { a.took = time.Since(began) }()
	req, err := http.NewRequestWithContext(ctx, "GET", n.url+"/orders/"+path, nil)
	if err != nil {
		return answer{err: err}
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After"), body: strings.TrimSpace(string(body)), err: err}
}

// begin sends a request and returns when its handler runs; the answer comes later.
func (e *example) begin(ctx context.Context, n *node, path string) (<-chan answer, error) {
	select {
	case <-n.entered: // by an earlier request
	default:
	}
	later := make(chan answer, 1)
	go func() { later <- e.ask(ctx, n, path) }()
	select {
	case <-n.entered:
		return later, nil
	case a := <-later:
		return nil, errors.Join(fmt.Errorf("the handler was not called: %d %s", a.status, a.body), a.err)
	}
}

// tell prints an answer and compares its status with what it should be; 0 is none.
func (e *example) tell(who, path string, a answer, status int) error {
	text := "no answer"
	if a.err == nil {
		text = fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
		if a.retryAfter != "" {
			text += ", Retry-After: " + a.retryAfter
		}
	}
	e.log.Line(who, path, "%s, after %s", text, demo.MS(a.took))
	if a.body != "" {
		e.log.Line("", "", "%q", strings.ReplaceAll(a.body, "http://", ""))
	}
	if a.status != status {
		return errors.Join(fmt.Errorf("%s: status %d, want %d", path, a.status, status), a.err)
	}
	return nil
}

// keys are all locks of the example.
func (e *example) keys() (keys []string) {
	for _, id := range []string{"41", "42", "43", "44", "45", "46", "47", "48"} {
		keys = append(keys, e.prefix+id)
	}
	return keys
}

var errTurns = errors.New("the second request was served before the first was done")
