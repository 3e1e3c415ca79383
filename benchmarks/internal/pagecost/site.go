//go:build unix

package pagecost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/redlatchui"
	"github.com/redlatch/redlatch/reentrant"
)

// site serves the page.
type site struct {
	rdb    *redis.Client
	client *reentrant.Client
	http   *httptest.Server
}

func serve(addr string) (*site, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	client, err := reentrant.New(rdb)
	if err != nil {
		rdb.Close()
		return nil, err
	}
	return &site{rdb: rdb, client: client, http: httptest.NewServer(redlatchui.NewHandler(client, redlatchui.Options{}))}, nil
}

func (s *site) close() {
	s.http.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin) // the run's ctx may have ended
	defer cancel()
	_ = s.client.Close(ctx)
	s.rdb.Close()
}

// opened is an open page, which reads what it is told.
type opened struct {
	leave context.CancelFunc
	words int // after ended: how often it was told something
	ended chan struct{}
}

// open opens a page, and returns when it has been told how things are.
func (s *site) open(ctx context.Context) (*opened, error) {
	ctx, leave := context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+"/events", nil)
	if err != nil {
		leave()
		return nil, err
	}
	answer, err := s.http.Client().Do(request)
	if err != nil {
		leave()
		return nil, err
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	p := &opened{leave: leave, ended: make(chan struct{})}
	if err := firstWord(lines); err != nil {
		leave()
		answer.Body.Close()
		return nil, err
	}
	go func() { // ends with leave
		defer close(p.ended)
		defer answer.Body.Close()
		for p.words = 1; lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data: ") {
				p.words++
			}
		}
	}()
	return p, nil
}

// firstWord is an error if the page is told of one, or of no lock.
func firstWord(lines *bufio.Scanner) error {
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var word struct {
			Error string
			Rows  []struct{}
		}
		switch err := json.Unmarshal([]byte(data), &word); {
		case err != nil:
			return err
		case word.Error != "":
			return errors.New(word.Error)
		case len(word.Rows) == 0:
			return errors.New("the page shows no lock")
		}
		return nil
	}
	return fmt.Errorf("the page has ended: %w", lines.Err())
}

// close returns how often the page was told something.
func (p *opened) close() int {
	p.leave()
	<-p.ended
	return p.words
}

// search has the page look at all keys.
func (s *site) search(ctx context.Context, pattern string) error {
	body, err := json.Marshal(map[string]string{"pattern": pattern})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.http.URL+"/search", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	answer, err := s.http.Client().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return fmt.Errorf("search: %s: %s", answer.Status, text)
	}
	return nil
}
