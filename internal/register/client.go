package register

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Client reads and writes the registers of the [Server] at URL.
type Client struct {
	URL string
}

// Read returns what both registers hold. refused is true if the fenced one was shown a
// higher token before: who holds that has the lock by now.
func (c Client) Read(ctx context.Context, token int64) (r Reading, refused bool, err error) {
	m, err := c.post(ctx, "/read", message{Token: token})
	return m.Reading, !m.OK, err
}

// Write writes what was read, raised by one, to both registers. The plain one takes it in
// any case; refused is true if the fenced one does not.
func (c Client) Write(ctx context.Context, token int64, read Reading) (refused bool, err error) {
	m, err := c.post(ctx, "/write", message{Token: token, Reading: read})
	return !m.OK, err
}

func (c Client) post(ctx context.Context, path string, m message) (message, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return m, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return m, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return m, fmt.Errorf("register: %s: %s", path, resp.Status)
	}
	return m, json.NewDecoder(resp.Body).Decode(&m)
}
