package leader_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/reentrant"
)

// candidacy makes the test binary a candidate, a process that campaigns: a spec as JSON.
const candidacy = "REDLATCH_CANDIDATE"

// name is the lock's.
const name = "l"

// spec is what a candidate is told.
type spec struct {
	Redis     string            // address; empty with Sentinels
	Sentinels []string          // addresses
	Via       map[string]string // what to dial in place of an address
	Lease     time.Duration
	Term      time.Duration // after which it resigns; 0: never
	Once      bool          // it ends after a term
	Trusting  bool          // it takes itself for the leader until it resigns: a mistake, for the oracle
	Hesitant  bool          // between a look and the write after it, it stands still until it is told to write
}

// report is a line that a candidate writes. Its times are of the wall clock that all processes of this machine share.
type report struct {
	Told  bool  // the term's ctx has ended. Before is the first look that said so, After when the ctx ended
	Wrote bool  // it wrote, after a look that said that it leads
	Term  int64 // token
	// Before and After enclose the look, if it is one.
	Before, After time.Time
}

// node is a candidate from within.
type node struct {
	spec     spec
	election *leader.Election
	out      *json.Encoder
	write    chan struct{} // closed when a hesitant candidate is told to write
}

// stand campaigns until the standard input ends. A byte there has a hesitant candidate write.
func stand(text string) error {
	n := &node{out: json.NewEncoder(os.Stdout), write: make(chan struct{})}
	if err := json.Unmarshal([]byte(text), &n.spec); err != nil {
		return err
	}
	client, err := reentrant.New(n.spec.redis(), reentrant.WithLease(n.spec.Lease))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the pipe
		in := bufio.NewReader(os.Stdin)
		if _, err := in.ReadByte(); err == nil {
			close(n.write)
			_, _ = in.ReadByte()
		}
		cancel()
	}()
	n.election = leader.New(client.NewLock(name, reentrant.WithFencing()))
	for ctx.Err() == nil {
		term, err := n.election.Campaign(ctx)
		if err != nil {
			<-time.After(10 * time.Millisecond)
			continue
		}
		if err := n.lead(ctx, term); err != nil || n.spec.Once {
			return err
		}
	}
	return nil
}

func (s *spec) redis() redis.UniversalClient {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if via, ok := s.Via[addr]; ok {
			addr = via
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	if len(s.Sentinels) > 0 {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: s.Sentinels, Dialer: dial})
	}
	return redis.NewClient(&redis.Options{Addr: s.Redis, Dialer: dial})
}

// lead looks and reports until the term is over, by its ctx or by the spec. Then it resigns, and looks until it has.
func (n *node) lead(ctx context.Context, term *leader.Term) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var resign <-chan time.Time
	if n.spec.Term > 0 {
		resign = time.After(n.spec.Term)
	}
	ended := term.Context().Done()
	if n.spec.Trusting {
		ended = ctx.Done()
	}
	var over time.Time // the first look that said no; zero: none
	for {
		led, err := n.look(term)
		switch {
		case err != nil:
			return err
		case led && n.spec.Hesitant:
			err := n.hesitate(term)
			return errors.Join(err, n.resign(ctx, term))
		case led:
			over = time.Time{}
		case over.IsZero():
			over = time.Now()
		}
		select {
		case <-ended:
			now := time.Now()
			if over.IsZero() {
				over = now
			}
			err := n.out.Encode(report{Told: true, Term: term.Token(), Before: over, After: now})
			return errors.Join(err, n.resign(ctx, term))
		case <-resign:
			return n.resign(ctx, term)
		case <-tick.C:
		}
	}
}

// look reports a look that says that this process leads.
func (n *node) look(term *leader.Term) (led bool, err error) {
	before := time.Now()
	led = n.election.IsLeader() || n.spec.Trusting
	after := time.Now()
	if led && !n.spec.Hesitant {
		err = n.out.Encode(report{Term: term.Token(), Before: before, After: after})
	}
	return led, err
}

// resign resigns, and looks more often meanwhile: another process leads as soon as Redis has the release.
func (n *node) resign(ctx context.Context, term *leader.Term) error {
	resigned := make(chan struct{})
	go func() {
		defer close(resigned)
		_ = n.election.Resign(ctx) // the release may find the loss, or no Redis
	}()
	n.spec.Trusting = false // until here
	tick := time.NewTicker(20 * time.Microsecond)
	defer tick.Stop()
	for {
		if _, err := n.look(term); err != nil {
			return err
		}
		select {
		case <-resigned:
			return nil
		case <-tick.C:
		}
	}
}

// hesitate writes after a look that said that this process leads. Between the two it is stopped until its lease is over, and the
// write is what it does first when it goes on: it does not look again.
func (n *node) hesitate(term *leader.Term) error {
	n.spec.Hesitant = false
	now := time.Now()
	if err := n.out.Encode(report{Term: term.Token(), Before: now, After: now}); err != nil {
		return err
	}
	<-n.write
	now = time.Now()
	return n.out.Encode(report{Wrote: true, Term: term.Token(), Before: now, After: now})
}
