// Package httpguard is HTTP middleware that holds a lock while a handler runs, one for each order, or whatever the ID in
// the request names. Two requests for the same order are served one after the other, on whichever of many servers they
// arrive.
//
// The handler's ctx is the hold's. It ends when the lock is lost, with the cause reentrant.ErrLost, and when the
// client goes away. Nested locks that are taken with it re-enter. The lock is released when the handler returns or panics.
//
// What the client gets without the handler being called:
//
//	400 Bad Request          the ID is not one
//	423 Locked               another request held the lock until the wait was over; Retry-After
//	503 Service Unavailable  Redis could not be asked, or the server is closing; Retry-After
//
// What it does not promise: that the handler runs once for each order. That is for the order's state to say, which the
// handler reads while it has the lock. A handler that does not look at its ctx goes on after a loss, and its answer goes
// out. One that must not write then has to check the fencing token (HoldFrom) at the resource.
//
// net/http notices that a client is gone only once the request's body was read. A request with a body may therefore wait
// for its lock in vain, as long as Wait.
package httpguard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Guard makes the middleware. Its fields must not change once it is used.
type Guard struct {
	// Client makes the locks. It stays the caller's, who closes it after the server.
	Client *reentrant.Client

	// Options are those of the locks: reentrant.WithFencing, for one.
	Options []reentrant.LockOption

	// ID returns what the lock is for, as the request has it. [Valid] IDs only: others
	// are answered with 400.
	ID func(*http.Request) string

	// Prefix goes before the ID in the lock's name: "order:". Others who use the lock must
	// know the name.
	Prefix string

	// Wait is how long a request waits for its lock; 0 or less is a single attempt.
	Wait time.Duration

	// RetryAfter is the most that a client is told to wait, in whole seconds; 0 is 1 s. It
	// is told less if the lease of the present holder ends sooner.
	RetryAfter time.Duration

	// Refuse answers a request that does not get the lock, if it is set: with the status, and headers to which
	// Retry-After was added. err is why: ErrInvalidName with 400, and otherwise the error of reentrant.Lock.Acquire. The
	// default is a line of text that does not tell err.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, err error)

	// Logger gets what the client is not told: why Redis could not be asked, and locks that
	// were lost or not released. The default is none.
	Logger *slog.Logger
}

// Wrap returns a handler that calls next while the lock is held.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := g.ID(r)
		if !Valid(id) {
			g.answer(w, r, http.StatusBadRequest, fmt.Errorf("%w: ID %.70q", reentrant.ErrInvalidName, id))
			return
		}
		name := g.Prefix + id
		hold, err := g.Client.NewLock(name, g.Options...).Acquire(r.Context(), reentrant.WithWait(g.Wait))
		if err != nil {
			g.refuse(w, r, name, err)
			return
		}
		// Deferred, so that a panic releases too. It comes before net/http sends the end of
		// the answer: a client that has it finds the lock free.
		defer g.release(r, name, hold)
		next.ServeHTTP(w, r.WithContext(context.WithValue(hold.Context(), holdKey{}, hold)))
	})
}

type holdKey struct{}

// HoldFrom returns the hold of the Guard that a handler's ctx comes from, the innermost one, or nil if there is none. Its
// Token is the fencing token. The Guard releases it.
func HoldFrom(ctx context.Context) *reentrant.Hold {
	hold, _ := ctx.Value(holdKey{}).(*reentrant.Hold)
	return hold
}

// refuse answers a request that did not get the lock.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, name string, err error) {
	var e *reentrant.NotAcquiredError
	if errors.As(err, &e) && e.Busy {
		w.Header().Set("Retry-After", strconv.Itoa(g.seconds(e.TTL)))
		g.answer(w, r, http.StatusLocked, err)
		return
	}
	if r.Context().Err() == nil { // else the client is gone and nobody is to blame
		g.log(r, slog.LevelError, "not locked", name, err)
	}
	w.Header().Set("Retry-After", strconv.Itoa(g.seconds(math.MaxInt64)))
	g.answer(w, r, http.StatusServiceUnavailable, err)
}

// texts are what the client reads. They name neither the lock nor Redis.
var texts = map[int]string{
	http.StatusBadRequest:         "invalid ID",
	http.StatusLocked:             "another request for this is being served",
	http.StatusServiceUnavailable: "try again later",
}

func (g *Guard) answer(w http.ResponseWriter, r *http.Request, status int, err error) {
	if g.Refuse != nil {
		g.Refuse(w, r, status, err)
		return
	}
	http.Error(w, texts[status], status)
}

// seconds is what goes into Retry-After: whole seconds, one at least. A TTL that Redis
// did not tell says nothing.
func (g *Guard) seconds(ttl time.Duration) int {
	most := max(g.RetryAfter, time.Second)
	if ttl > 0 {
		most = min(most, ttl)
	}
	return int(math.Ceil(most.Seconds()))
}

func (g *Guard) release(r *http.Request, name string, hold *reentrant.Hold) {
	switch err := hold.Release(r.Context()); { // also of a client that went away
	case errors.Is(err, reentrant.ErrLost):
		g.log(r, slog.LevelError, "lock lost while the handler ran", name, err)
	case err != nil:
		g.log(r, slog.LevelWarn, "lock not released", name, err)
	}
}

func (g *Guard) log(r *http.Request, level slog.Level, message, name string, err error) {
	if g.Logger != nil {
		g.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, message,
			slog.String("lock", name), slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
	}
}
