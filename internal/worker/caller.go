package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/register"
	"github.com/redlatch/redlatch/reentrant"
	"github.com/redlatch/redlatch/watchdog"
)

// variable makes a test binary a worker.
const variable = "REDLATCH_WORKER"

// Main is to be called first in TestMain. In a worker it does what the parent says and does
// not return; otherwise it does nothing.
func Main() {
	spec := os.Getenv(variable)
	if spec == "" {
		return
	}
	if err := serve(spec); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve works until the parent closes the pipe.
func serve(text string) error {
	var spec Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	for range spec.Busy { // until the process ends
		go func() {
			for n := 0; ; n++ {
			}
		}()
	}
	rdb := redis.NewClient(&redis.Options{Addr: spec.Redis})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLease(spec.Lease), reentrant.WithLogger(nil))
	if err != nil {
		return err
	}
	// The process ends here: what it holds it leaves to the lease, as one that crashes.
	c := &caller{
		lock: spec.lock(client),
		ctx:  reentrant.WithOwner(context.Background(), "worker"),
		http: register.Client{URL: spec.Register},
	}
	steps, reports := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var s Step
		if err := steps.Decode(&s); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		began, valid := time.Now(), c.valid()
		r := c.do(s)
		r.Took, r.Began, r.Valid = time.Since(began), began, valid
		if s.Verb == Lock {
			r.Valid = c.valid()
		}
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

// caller is a worker from within: who calls Redlatch.
type caller struct {
	lock *reentrant.Lock
	ctx  context.Context // with the owner
	http register.Client

	hold *reentrant.Hold  // the last one, released or not
	read register.Reading // the last one
}

// valid is until when the hold may be trusted; zero if there was none.
func (c *caller) valid() (until time.Time) {
	if c.hold != nil {
		until = c.hold.ValidUntil()
	}
	return until
}

func (c *caller) do(s Step) (r Report) {
	var err error
	switch s.Verb {
	case Lock:
		err = c.acquire()
	case Increase:
		for range s.N {
			c.increase(&r)
		}
	default:
		err = c.inside(s.Verb, &r)
	}
	r.failed(err)
	if c.hold != nil {
		r.Token = c.hold.Token()
		r.Trusted = c.hold.Context().Err() == nil && !watchdog.Passed(c.hold.ValidUntil())
		if cause := context.Cause(c.hold.Context()); cause != nil {
			r.Cause = cause.Error()
		}
	}
	return r
}

// inside does what needs a hold.
func (c *caller) inside(v Verb, r *Report) (err error) {
	if c.hold == nil {
		return errors.New("there was no hold yet")
	}
	switch v {
	case Enter:
		err = c.lock.Lock(c.hold.Context())
	case Read:
		c.read, r.Refused, err = c.http.Read(c.ctx, c.hold.Token())
		r.Reading = c.read
	case Write:
		r.Refused, err = c.http.Write(c.ctx, c.hold.Token(), c.read)
	case Look:
		if r.Held, err = c.lock.IsHeld(c.ctx); err == nil {
			r.Count, err = c.lock.HoldCount(c.ctx)
		}
	case Lost:
		<-c.hold.Lost()
		err = context.Cause(c.hold.Context())
	case Unlock:
		err = c.hold.Release(c.ctx)
	default:
		err = fmt.Errorf("no such step: %s", v)
	}
	return err
}

func (c *caller) acquire() (err error) {
	hold, err := c.lock.Acquire(c.ctx)
	if err == nil {
		c.hold = hold
	}
	return err
}

// increase is what an ordinary user does, down to the look at the hold before the write,
// after which anything can happen.
func (c *caller) increase(r *Report) {
	if err := c.acquire(); err != nil {
		r.failed(err)
		return
	}
	read, refused, err := c.http.Read(c.ctx, c.hold.Token())
	if err == nil && !refused && c.hold.Context().Err() == nil {
		refused, err = c.http.Write(c.ctx, c.hold.Token(), read)
		if err == nil && !refused {
			r.Accepted++
		}
	}
	if err != nil {
		r.failed(err)
	}
	if refused {
		r.Turned++
	}
	switch err := c.hold.Release(c.ctx); {
	case errors.Is(err, reentrant.ErrLost):
		r.Losses++
	case err != nil:
		r.failed(err)
	}
}

func (s Spec) lock(client *reentrant.Client) *reentrant.Lock {
	switch s.Kind {
	case "fair":
		return client.NewFairLock(s.Lock, reentrant.WithFencing())
	case "write":
		return client.NewReadWriteLock(s.Lock, reentrant.WithFencing()).Write()
	default:
		return client.NewLock(s.Lock, reentrant.WithFencing())
	}
}
