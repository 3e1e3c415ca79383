package leader

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

const (
	// leastPause and mostPause are the pauses after a campaign that failed. They double, and half of each is random.
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// Run campaigns for the lock, and calls lead while this process leads. It returns when lead does, or when ctx ends.
//
//   - lead returns before its ctx ends: Run resigns, and returns lead's error, joined with the resignation's. The latter is
//     [reentrant.ErrLost] if only the resignation has found the loss. Run does not call lead again then.
//   - The lock is lost: lead's ctx ends. When lead has returned, Run drops its error and campaigns again.
//   - ctx ends: lead's ctx ends with it. Run waits for lead, resigns, and returns lead's error, joined with the resignation's.
//     It returns ctx's error if nobody led.
//   - lead panics: Run resigns, and the panic goes on.
//   - A campaign fails, because Redis does not answer or refuses: Run tries again after a pause of 100 ms to 5 s, until ctx ends.
//
// An error that another try cannot mend ends Run: [reentrant.ErrClosed], ErrInvalidName, ErrInvalidOwner, ErrInvalidLease,
// ErrInvalidOption, ErrForeignKey and ErrPermission. So does [reentrant.ErrBusy] of a lock with a limit for its wait.
//
// lead has to return soon after its ctx has ended: another process may lead by then. A campaign that follows a loss does not
// wait. So a lock that ends its terms by itself ([reentrant.WithFixedLease], [reentrant.WithMaxHold]) is campaigned for at once.
func Run(ctx context.Context, lock *reentrant.Lock, lead func(ctx context.Context) error) error {
	e := New(lock)
	for failures := 0; ; {
		term, err := e.Campaign(ctx)
		switch {
		case err == nil:
			failures = 0
			if again, err := e.serve(ctx, term, lead); !again {
				return err
			}
		case ctx.Err() != nil, final(err):
			return err
		default:
			failures++
		}
		if err := pause(ctx, failures); err != nil {
			return err
		}
	}
}

// serve calls lead for a term, and resigns. again is true if the term had ended when lead returned, and ctx had not. What the
// resignation finds does not count: lead was through by then, and must not be called a second time.
func (e *Election) serve(ctx context.Context, term *Term, lead func(context.Context) error) (again bool, err error) {
	defer func() { // also if lead panics
		resigned := e.Resign(term.Context()) // the release does not end with it
		if again {
			err = nil
			return
		}
		err = errors.Join(err, resigned)
	}()
	err = lead(term.Context())
	return term.Context().Err() != nil && ctx.Err() == nil, err
}

// final reports whether another try cannot mend an error.
func final(err error) bool {
	for _, target := range []error{
		reentrant.ErrClosed, reentrant.ErrInvalidName, reentrant.ErrInvalidOwner, reentrant.ErrInvalidLease, reentrant.ErrInvalidOption,
		reentrant.ErrForeignKey, reentrant.ErrPermission, reentrant.ErrBusy,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// pause waits after so many failures, and returns the error of ctx if that ends before.
func pause(ctx context.Context, failures int) error {
	if failures == 0 {
		return ctx.Err()
	}
	d := min(leastPause<<min(failures-1, 10), mostPause)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
