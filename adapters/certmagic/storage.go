package redlatchcertmagic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/redlatch/redlatch/reentrant"
)

// Prefix is what the name of a lock begins with; certmagic's name for it follows.
const Prefix = "certmagic:"

var (
	_ certmagic.Storage          = (*Storage)(nil)
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// Storage is a certmagic.Storage with other locks. It is safe for use by many goroutines.
type Storage struct {
	certmagic.Storage // the certificates, but not the locks

	client *reentrant.Client

	mu sync.Mutex
	// holds are what Lock and TryLock have taken and Unlock not given back, by certmagic's name, the oldest first. There
	// is one of each name, unless it was lost and another call has taken the lock since.
	holds map[string][]*reentrant.Hold
}

// New returns storage with locks of client. Its own are not used, so all machines have to use New, with the same Redis.
func New(storage certmagic.Storage, client *reentrant.Client) *Storage {
	return &Storage{Storage: storage, client: client, holds: make(map[string][]*reentrant.Hold)}
}

// Lock waits for the lock until ctx ends. The error is that of reentrant.Lock.Acquire. The lease is renewed until Unlock,
// or until this process dies.
func (s *Storage) Lock(ctx context.Context, name string) error { return s.acquire(ctx, name) }

// TryLock takes the lock if it is free, and returns within 500 ms. It returns false and nil if another call has the lock,
// here or on another machine, and false and an error if Redis could not be asked.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	err := s.acquire(ctx, name, reentrant.WithWait(0))
	if errors.Is(err, reentrant.ErrBusy) {
		return false, nil
	}
	return err == nil, err
}

func (s *Storage) acquire(ctx context.Context, name string, opts ...reentrant.AcquireOption) error {
	// Each call is an owner of its own. The ctx of certmagic says nothing of one, and CleanUpOwnLocks unlocks on a goroutine
	// that has not locked.
	hold, err := s.client.NewLock(Prefix+name).Acquire(reentrant.WithNewOwner(ctx), opts...)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[name] = append(s.holds[name], hold)
	return nil
}

// Unlock releases the lock, on any goroutine. ctx may have ended. The error is that of reentrant.Hold.Release: ErrLost if
// the lock was lost meanwhile, so that another machine may have had it, too. It is ErrNotHeld if nobody has the lock here,
// as when certmagic.CleanUpOwnLocks was quicker.
func (s *Storage) Unlock(ctx context.Context, name string) error {
	hold := s.oldest(name)
	if hold == nil {
		return fmt.Errorf("%w: %q", reentrant.ErrNotHeld, Prefix+name)
	}
	return hold.Release(ctx)
}

// oldest takes the oldest hold out of the list. certmagic does not say which call of Lock an Unlock belongs to. All holds
// but the youngest are lost, so in this order no call frees the lock of another that is still at work.
func (s *Storage) oldest(name string) *reentrant.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	holds := s.holds[name]
	switch len(holds) {
	case 0:
		return nil
	case 1:
		delete(s.holds, name)
	default:
		s.holds[name] = holds[1:]
	}
	return holds[0]
}

// RenewLockLease says whether the lock is held, for an operation that certmagic repeats. It sends nothing and does not look
// at the duration: the Client renews the lease as long as the operation lasts. The error is ErrLost if the lock was lost,
// with which certmagic ends the operation, and ErrNotHeld if nobody has the lock here.
func (s *Storage) RenewLockLease(_ context.Context, name string, _ time.Duration) error {
	s.mu.Lock()
	holds := s.holds[name]
	s.mu.Unlock()
	if len(holds) == 0 {
		return fmt.Errorf("%w: %q", reentrant.ErrNotHeld, Prefix+name)
	}
	select {
	case <-holds[len(holds)-1].Lost():
		return fmt.Errorf("%w: %q", reentrant.ErrLost, Prefix+name)
	default:
		return nil
	}
}
