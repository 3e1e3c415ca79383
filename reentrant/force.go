package reentrant

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// ForceUnlock frees the lock, whichever owner holds it, wakes a waiter, and reports whether any owner
// held it. It is for operators. A holder of this Client is told at once. A holder of another Client goes
// on working until it finds out, at its next renewal or release, that it has lost the lock.
//
// It waits and fails as [Lock.IsLocked] does, but first waits for a command of this Client about the lock
// that is under way. After an error the lock may have been freed. The command that was under way may also
// free it later, whichever owner holds it then. If the reply to a first try was lost, ForceUnlock may
// report false though that try has freed the lock. A holder of this Client is told in that case too.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) { return l.force(ctx, "") }

// ForceUnlockHolder is ForceUnlock that takes the lock only from the given holder: the whole field in the lock's hash, as
// [Party] has it in Field. If that is not a holder by now, it changes nothing and returns false. So it never takes the lock
// from an owner that the caller has not seen, though it may be a later hold of the same owner. It compares with what is in
// Redis, and knows nothing of the numbers by which a Client tells its late commands.
//
// Of a [ReadWriteLock] it ends the one hold, of a reader or of the writer, by a Lock of either side. Readers of one Client
// that share a field lose it together. An empty field is [ErrInvalidOwner].
func (l *Lock) ForceUnlockHolder(ctx context.Context, field string) (bool, error) {
	if field == "" {
		return false, fmt.Errorf("%w: the field of the holder is empty", ErrInvalidOwner)
	}
	field, _ = l.shares(field)
	return l.force(ctx, field)
}

// ExtendHolder makes the lock live for at least lease from now, 1 ms to 100 years, otherwise [ErrInvalidLease], if the given
// holder has it: the whole field, as for [Lock.ForceUnlockHolder]. It returns false, and changes nothing, if that is not a
// holder by now. It is for a holder that is no running process, as a job of several steps, each of which runs a command. The
// Client of the holder, if it lives, does not learn of it: it goes on by the lease that it knows. Of a [ReadWriteLock]
// it extends the read or the write of that field.
//
// It waits and fails as [Lock.IsLocked] does.
func (l *Lock) ExtendHolder(ctx context.Context, field string, lease time.Duration) (bool, error) {
	if field == "" {
		return false, fmt.Errorf("%w: the field of the holder is empty", ErrInvalidOwner)
	}
	if err := checkLease(lease); err != nil {
		return false, err
	}
	holder := lua.FieldOwner{Lock: l.keys.Lock, Owner: field}
	if l.kind.twoModes {
		if _, reads := lua.RWOwner(field); reads {
			holder.Marker = l.keys.Marker(field)
		}
	}
	return ask(ctx, l, func(ctx context.Context, _ identity) (bool, error) {
		renewals, err := lua.Renew(ctx, l.c.single, []lua.FieldOwner{holder}, lease)
		return len(renewals) == 1 && renewals[0] == lua.Renewed, err
	})
}

// force takes the lock from the holder with that field, or from all if it is empty.
func (l *Lock) force(ctx context.Context, field string) (bool, error) {
	var freed, doubted bool // by one of the tries
	caller := ctx
	return ask(ctx, l, func(ctx context.Context, _ identity) (bool, error) {
		// With the turn Redis grants this Client nothing meanwhile, and hands nothing over. So the Client
		// knows which of its owners loses the lock.
		s := l.c.useState(l)
		defer s.dropUser()
		t := s.takeTurn()
		defer t.done()
		if caller.Err() != nil {
			return false, whyEnded(caller) // the caller has left while other commands had the turn
		}
		t.begin()
		began := time.Now()
		defer t.end()
		s.sequencer.expected.Store(nil) // the command may take back what a release has granted
		robbed := l.robbed(s, field)
		now, err := l.kind.force(ctx, l.c.single, &l.keys, l.mode, field, l.c.wakeUp())
		freed, doubted = freed || now, doubted || lua.Unknown(err)
		if err == nil || time.Since(began) > lockstate.Silence { // one lost reply is no outage
			t.note(err)
		}
		// After a try without an answer, "it was free" may be that try's work. Tell the loss here: the
		// caller may have left.
		for _, o := range robbed {
			if err == nil && (freed || doubted) {
				s.lose(o.Lease(), lockstate.Overridden)
			}
		}
		return freed, err
	})
}

// robbed are the ownerships of this Client that a force ends. Reads inside a write stay.
func (l *Lock) robbed(s *lockState, field string) (all []*lockstate.Ownership) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.state.Owners() {
		if field != "" {
			if in, _ := o.Lease().Field(); in == field {
				all = append(all, o)
			}
			continue
		}
		if o.Mode() != l.mode && l.mode == lockstate.Shared {
			return nil
		}
		if o.Mode() == l.mode {
			all = append(all, o)
		}
	}
	return all
}
