package leader_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/reentrant"
)

// candidacy makes the test binary a process that campaigns: a spec as JSON.
const candidacy = "REDLATCH_CANDIDATE"

// spec is what a candidate is told.
type spec struct {
	Redis string
	Lease time.Duration
}

// look is what a candidate saw: that it led, at an instant between Before and After, by the wall clock that all processes of
// this machine share.
type look struct {
	Term          int64 // token
	Before, After time.Time
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // leads are lost here
	logging.Disable()
	if text := os.Getenv(candidacy); text != "" {
		if err := campaign(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// campaign leads as long as it can, and prints what it sees, until its standard input ends.
func campaign(text string) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	client, err := reentrant.New(redis.NewClient(&redis.Options{Addr: s.Redis}), reentrant.WithLease(s.Lease))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the pipe
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	e, out := leader.New(client.NewLock("l", reentrant.WithFencing())), json.NewEncoder(os.Stdout)
	for ctx.Err() == nil {
		term, err := e.Campaign(ctx)
		if err != nil {
			if wait := time.After(10 * time.Millisecond); ctx.Err() == nil {
				<-wait
			}
			continue
		}
		for {
			before := time.Now()
			led := e.IsLeader()
			if !led {
				break
			}
			if err := out.Encode(look{Term: term.Token(), Before: before, After: time.Now()}); err != nil {
				return err
			}
			<-time.After(time.Millisecond)
		}
		_ = e.Resign(ctx)
	}
	return nil
}
