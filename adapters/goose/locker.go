package redlatchgoose

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/pressly/goose/v3/lock"

	"github.com/redlatch/redlatch/reentrant"
)

var _ lock.Locker = (*Locker)(nil)

// Locker is goose's lock.Locker on a lock in Redis, for goose.WithLocker. Providers may share it. It is safe for use by
// many goroutines.
type Locker struct {
	lock *reentrant.Lock

	mu sync.Mutex
	// holds are what Lock has taken and Unlock not given back, the oldest first. There is one, unless it was lost and
	// another provider that shares the Locker has taken the lock since.
	holds []*reentrant.Hold
}

// New returns a Locker on a lock. Databases that are migrated apart need locks of different names. Its options apply:
// lock.With(reentrant.WithWait(d)) has a provider wait for d at most. Otherwise it waits until the ctx of the migration
// ends.
func New(lock *reentrant.Lock) *Locker { return &Locker{lock: lock} }

// Lock waits for the lock. It does not look at the database. The error, with which the provider's call ends too, is that
// of reentrant.Lock.Acquire: ErrNotAcquired, and ErrBusy as well if another process migrates at the end of the wait.
func (l *Locker) Lock(ctx context.Context, _ *sql.DB) error {
	// Each call is an owner of its own: two providers of one goroutine would be let in together.
	hold, err := l.lock.Acquire(reentrant.WithNewOwner(ctx))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = append(l.holds, hold)
	return nil
}

// Unlock releases the lock. ctx may have ended. The error, which the provider's call returns too, is that of
// reentrant.Hold.Release. ErrLost says that the lock was lost while the migrations ran: another process may have begun
// to migrate beside them. ErrNotHeld says that there was no Lock.
//
// It does not promise that migrations stop at a loss, since goose gives them the caller's ctx: call Provider.Up with the
// ctx of reentrant.Lock.Do instead of setting a Locker.
func (l *Locker) Unlock(ctx context.Context, _ *sql.DB) error {
	hold := l.oldest()
	if hold == nil {
		return fmt.Errorf("%w: %q", reentrant.ErrNotHeld, l.lock.Name())
	}
	return hold.Release(ctx)
}

// oldest takes the oldest hold out of the list. goose does not say which call of Lock an Unlock belongs to. All holds but
// the youngest are lost, so in this order no provider frees the lock of another that still migrates: after two calls of
// Lock it takes two of Unlock.
func (l *Locker) oldest() *reentrant.Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.holds) == 0 {
		return nil
	}
	hold := l.holds[0]
	l.holds = l.holds[1:]
	return hold
}
