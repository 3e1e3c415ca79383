//go:build unix

package pagecost

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/benchmarks/internal/server"
)

// Config says how large the scene is and how long each part is measured.
type Config struct {
	Strings int           // keys that are no locks
	Hashes  int           // and hashes that are none
	Locks   int           // held, and renewed
	Waiters int           // one for each of the first locks
	Rounds  int           // each has one slice of every part
	Slice   time.Duration // the part's time in a round; a search lasts as long as it does
}

// parts are what is measured in turn.
var parts = []string{"no page", "a page is open", "a page searches all keys"}

// pause goes before each PING.
const pause = time.Millisecond

// Run measures all parts, in an order that moves on by one from round to round: a drift of the machine meets all alike.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	srv, err := server.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	res := &Result{Config: cfg, times: make([][]time.Duration, len(parts))}
	if res.Redis, err = srv.Version(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, srv.Client(), cfg); err != nil {
		return nil, err
	}
	scene, err := setScene(ctx, srv, cfg)
	if err != nil {
		return nil, err
	}
	defer scene.close()
	site, err := serve(srv.Addr)
	if err != nil {
		return nil, err
	}
	defer site.close()
	r := &runner{cfg: cfg, srv: srv, site: site, res: res}
	for round := range cfg.Rounds {
		for i := range parts {
			if err := r.part(ctx, (i+round)%len(parts)); err != nil {
				return nil, err
			}
		}
	}
	return res, nil
}

type runner struct {
	cfg  Config
	srv  *server.Server
	site *site
	res  *Result
}

// part measures one slice.
func (r *runner) part(ctx context.Context, which int) error {
	over := time.After(r.cfg.Slice)
	if which > 0 {
		p, err := r.site.open(ctx)
		if err != nil {
			return err
		}
		defer func() { r.res.Words += p.close() }()
		over = time.After(r.cfg.Slice) // opening does not count
	}
	if which < 2 {
		return r.ping(ctx, which, func() bool { return fired(over) })
	}
	ctx, cancel := context.WithCancel(ctx)
	searched := make(chan error, 1)
	go func() { searched <- r.site.search(ctx, searchFor) }() // received below
	var result error
	ended := false
	err := r.ping(ctx, which, func() bool {
		select {
		case result = <-searched:
			ended = true
		default:
		}
		return ended
	})
	cancel()
	if !ended {
		<-searched
	}
	r.res.Searches++
	if err != nil {
		return err
	}
	return result
}

func fired(over <-chan time.Time) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}

// ping sends PINGs until it is over, at least one.
func (r *runner) ping(ctx context.Context, which int, over func() bool) error {
	began := time.Now()
	defer func() { r.res.spent[which] += time.Since(began) }()
	for done := false; !done; done = over() {
		one, err := r.srv.Ping(ctx, 1, pause)
		if err != nil {
			return err
		}
		r.res.times[which] = append(r.res.times[which], one...)
	}
	return nil
}
