package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// failures are those of each rung's acts: none where Redlatch stands, but for the plain
// lock in a failover.
var failures = map[int][]string{
	1: {neverExpires, ""},
	2: {freesAnother, ""},
	3: {freesAnother, ""},
	4: {twoAtOnce, ""},
	5: {deadlock, ""},
	6: {wasteful, late, ""},
	7: {twoAtOnce, twoAtOnce, "", ""},
}

// TestRungsEmbedded also compares what happens with the pictures and the text in docs.
func TestRungsEmbedded(t *testing.T) {
	t.Parallel()
	played := playAll(t, func(*theatre) {}, "")
	for i, r := range ladder {
		checkRung(t, r, played[i])
		checkPicture(t, r, played[i])
	}
}

func TestRungsOnServer(t *testing.T) {
	t.Parallel()
	var servers []*redistest.Server
	for range 5 {
		servers = append(servers, redistest.Start(t))
	}
	home, spare := servers[0], servers[1:]
	played := playAll(t, func(t *theatre) {
		next := 0
		t.another = func() (*redis.Options, error) {
			next++ // no act needs more than four, and each has a key of its own
			return &redis.Options{Addr: spare[next%len(spare)].Addr()}, nil
		}
	}, "redis://"+home.Addr())
	for i, r := range ladder {
		checkRung(t, r, played[i])
	}
	leavesNothing(t, home)
}

// playAll plays all rungs at the same time, each in a theatre of its own.
func playAll(t *testing.T, prepare func(*theatre), url string) [][]*recording {
	t.Helper()
	played, errs, done := make([][]*recording, len(ladder)), make([]error, len(ladder)), make(chan int)
	for i, r := range ladder {
		go func() {
			defer func() { done <- i }()
			th, err := newTheatre(t.Context(), url)
			if err != nil {
				errs[i] = err
				return
			}
			defer th.close()
			prepare(th)
			for _, a := range r.acts {
				rec, err := th.play(t.Context(), a)
				if err != nil {
					errs[i] = fmt.Errorf("rung %d, %s: %w", r.number, a.who, err)
					return
				}
				played[i] = append(played[i], rec)
			}
		}()
	}
	for range ladder {
		<-done
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return played
}

// checkRung compares the verdicts with those that are expected, and with the recording
// itself.
func checkRung(t *testing.T, r rung, played []*recording) {
	t.Helper()
	for i, a := range r.acts {
		rec := played[i]
		v := a.judge(rec)
		if want := failures[r.number][i]; v.failure != want {
			t.Errorf("rung %d, %s: got %q, want %q: %s\n%s", r.number, a.who, v.failure, want, v.text, told(a, rec))
			continue
		}
		if err := facts[fmt.Sprintf("%d%c", r.number, 'a'+i)](rec); err != nil {
			t.Errorf("rung %d, %s: %v\n%s", r.number, a.who, err, told(a, rec))
		}
	}
}
