package mixedtests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/reentrant"
)

// Verb is what a worker is to do.
type Verb string

const (
	Acquire Verb = "acquire" // acquire the lock, waiting for it, and keep it
	Release Verb = "release" // release it
	Once    Verb = "once"    // Acquire and Release
	Contend Verb = "contend" // each caller N times: Acquire, count, Release; some calls wait only for a moment
)

// Step is one thing for a worker to do with a lock.
type Step struct {
	Verb       Verb
	Lock       string
	Fenced     bool
	Callers, N int // of Contend
}

// Report says what came of a step. Stats is JSON: the two versions differ in it.
type Report struct {
	Err      string
	Acquired int // by this step
	GaveUp   int // calls of this step that waited in vain
	Stats    json.RawMessage
}

// Work is what the program worker does: it does the steps that it reads, one at a time, and writes a report of each.
// It calls only what both versions of Redlatch have.
func Work(id, addr string, in io.Reader, out io.Writer) error {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client, err := reentrant.New(rdb, reentrant.WithLogger(nil))
	if err != nil {
		return err
	}
	w := &caller{id: id, rdb: rdb, client: client}
	steps, reports := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var s Step
		if err := steps.Decode(&s); errors.Is(err, io.EOF) {
			return client.Close(ctx)
		} else if err != nil {
			return err
		}
		r, err := w.do(ctx, s)
		if err != nil {
			r.Err = err.Error()
		}
		if r.Stats, err = json.Marshal(client.Stats()); err != nil {
			return err
		}
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

type caller struct {
	id     string
	rdb    *redis.Client
	client *reentrant.Client
	hold   *reentrant.Hold // of Acquire
}

func (w *caller) do(ctx context.Context, s Step) (r Report, err error) {
	switch s.Verb {
	case Acquire:
		w.hold, err = w.enter(ctx, s)
		r.Acquired = 1
	case Release:
		err = w.leave(ctx, s, w.hold)
	case Once:
		err = w.once(ctx, s)
		r.Acquired = 1
	case Contend:
		r, err = w.contend(ctx, s)
	default:
		err = fmt.Errorf("no such step: %s", s.Verb)
	}
	return r, err
}

func (w *caller) once(ctx context.Context, s Step, opts ...reentrant.AcquireOption) error {
	hold, err := w.enter(ctx, s, opts...)
	if err != nil {
		return err
	}
	return w.leave(ctx, s, hold)
}

// contend has each caller give up after a moment every few times: a client that leaves the queue of the other
// version passes its wake-up, or its grant, on.
func (w *caller) contend(ctx context.Context, s Step) (r Report, err error) {
	var mu sync.Mutex // guards r and err
	var group sync.WaitGroup
	for range s.Callers {
		group.Go(func() {
			for i := range s.N {
				var opts []reentrant.AcquireOption
				if i%4 == 3 {
					opts = append(opts, reentrant.WithWait(time.Duration(1+i%7)*time.Millisecond))
				}
				one := w.once(ctx, s, opts...)
				mu.Lock()
				switch {
				case one == nil:
					r.Acquired++
				case len(opts) > 0 && errors.Is(one, reentrant.ErrNotAcquired): // busy, or Redis was slow to answer
					r.GaveUp++
				default:
					err = errors.Join(err, one)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return r, err
}

// The workers check a lock without the help of a lock, by these keys.
const checks = "check:"

func guardKey(lock string) string { return checks + "guard:" + lock } // how many are inside
func countKey(lock string) string { return checks + "count:" + lock } // raised by reading and writing
func orderKey(lock string) string { return checks + "order:" + lock } // list: who was inside
func tokenKey(lock string) string { return checks + "token:" + lock } // the last holder's fencing token

// enter acquires the lock, and checks that nobody else is inside and that the token has risen.
func (w *caller) enter(ctx context.Context, s Step, opts ...reentrant.AcquireOption) (*reentrant.Hold, error) {
	hold, err := w.lock(s).Acquire(ctx, opts...)
	if err != nil {
		return nil, err
	}
	inside, err := w.rdb.Incr(ctx, guardKey(s.Lock)).Result()
	if err == nil && inside != 1 {
		err = fmt.Errorf("%d are inside; %v", inside, hold)
	}
	if err == nil {
		err = w.note(ctx, s, hold)
	}
	return hold, err
}

func (w *caller) lock(s Step) *reentrant.Lock {
	if s.Fenced {
		return w.client.NewLock(s.Lock, reentrant.WithFencing())
	}
	return w.client.NewLock(s.Lock)
}

func (w *caller) note(ctx context.Context, s Step, hold *reentrant.Hold) error {
	if err := w.rdb.RPush(ctx, orderKey(s.Lock), w.id).Err(); err != nil {
		return err
	}
	last, err := w.number(ctx, tokenKey(s.Lock))
	if err == nil && s.Fenced && hold.Token() <= last {
		err = fmt.Errorf("token %d after %d", hold.Token(), last)
	}
	if err == nil {
		err = w.rdb.Set(ctx, tokenKey(s.Lock), hold.Token(), 0).Err()
	}
	return err
}

// leave counts, and releases the lock. Two that are inside lose a count.
func (w *caller) leave(ctx context.Context, s Step, hold *reentrant.Hold) error {
	count, err := w.number(ctx, countKey(s.Lock))
	if err == nil {
		err = w.rdb.Set(ctx, countKey(s.Lock), count+1, 0).Err()
	}
	if err == nil {
		err = w.rdb.Decr(ctx, guardKey(s.Lock)).Err()
	}
	return errors.Join(err, hold.Release(ctx))
}

func (w *caller) number(ctx context.Context, key string) (int64, error) {
	n, err := w.rdb.Get(ctx, key).Int64()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return n, err
}
