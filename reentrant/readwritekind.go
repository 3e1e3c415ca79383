package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// readWrite is the lock of [Client.NewReadWriteLock]: Redisson's RReadWriteLock. It is a hash with the mode, a field for
// the writer and one for each reader, and a key beside it for each reader, which lives as long as the reader does.
//
// A name has one lock state for both modes: one wait queue, one command turn, one epoch. An owner has a field in each
// mode, and so an ownership in each, with a lease of its own.
var readWrite = &kind{name: "read-write", number: 1, twoModes: true, protocol: readWriteLock{}}

// errNoHandOff: a release always frees a read-write lock, and Redis decides who comes next (Config.Handoff is Never).
var errNoHandOff = errors.New("a read-write lock is not handed over inside a Client")

type readWriteLock struct{}

func (readWriteLock) keys(key, client string) lua.Keys { return lua.RWKeysOf(key, client) }

func (readWriteLock) ownChannel(k *lua.Keys) string { return k.Own() }

func (readWriteLock) commonChannel(k *lua.Keys) (common, listeners string) {
	return k.Channel(), k.Listeners()
}

func (readWriteLock) acquire(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Acquire) (lua.Granted, error) {
	return lua.RWAcquire(command).Run(ctx, p, k)
}

func (readWriteLock) count(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Count) (lua.Verdict, error) {
	g, err := lua.RWCount(command).Run(ctx, p, k)
	return g.Verdict, err
}

func (readWriteLock) transfer(context.Context, lua.Processor, *lua.Keys, lua.Transfer) (lua.Granted, error) {
	return lua.Granted{}, errNoHandOff
}

func (readWriteLock) release(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Release) (lua.Verdict, bool, error) {
	return lua.RWRelease(command).Run(ctx, p, k)
}

func (readWriteLock) linger(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Linger) (lua.Verdict, bool, error) {
	return lua.RWLinger(command).Run(ctx, p, k)
}

func (readWriteLock) launchAcquire(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Acquire) *lua.Flight {
	return lua.RWAcquire(*command).Launch(ctx, by, k)
}

func (readWriteLock) launchRelease(ctx context.Context, by lua.Launcher, k *lua.Keys, command *lua.Release) *lua.Flight {
	return lua.RWRelease(*command).Launch(ctx, by, k)
}

func (readWriteLock) leave(ctx context.Context, p lua.Processor, k *lua.Keys, command lua.Leave) (lua.Verdict, error) {
	return lua.RWLeave(command).Run(ctx, p, k)
}

func (readWriteLock) force(ctx context.Context, p lua.Processor, k *lua.Keys, mode lockstate.Mode, holder string, wake lua.Wake) (bool, error) {
	return lua.RWForce(ctx, p, k, wake, mode == lockstate.Shared, holder)
}

func (readWriteLock) inspect(ctx context.Context, p lua.Processor, k *lua.Keys, owner string) (lua.Inspection, error) {
	return lua.RWInspect(ctx, p, k, owner)
}

func (readWriteLock) report(ctx context.Context, p lua.Processor, k *lua.Keys, wake lua.Wake, fencing bool) (lua.Report, error) {
	return lua.ReadRWReport(ctx, p, k, wake, fencing)
}

// fieldOf is the field that an owner has in the lock's hash, if this Lock takes it.
func (l *Lock) fieldOf(owner string) string {
	switch {
	case !l.kind.twoModes:
		return owner
	case l.mode == lockstate.Shared:
		return lua.ReaderField(owner)
	}
	return lua.WriterField(owner)
}

// inMode is the field in this Lock's mode of the owner that has that field in one of the modes.
func (l *Lock) inMode(field string) string {
	if !l.kind.twoModes {
		return field
	}
	owner, _ := lua.RWOwner(field)
	return l.fieldOf(owner)
}

// sibling is the field of the same owner in the other mode, and empty if the lock has one mode.
func (l *Lock) sibling(field string) string {
	if !l.kind.twoModes {
		return ""
	}
	owner, reads := lua.RWOwner(field)
	if reads {
		return lua.WriterField(owner)
	}
	return lua.ReaderField(owner)
}

// reads reports whether a field is a reader's.
func (s *lockState) reads(field string) bool {
	if !s.kind.twoModes {
		return false
	}
	_, reads := lua.RWOwner(field)
	return reads
}

// What Event.Kind says.
const (
	kindRead  = "read"
	kindWrite = "write"
)

// eventKind is Event.Kind for a mode.
func (k *kind) eventKind(mode lockstate.Mode) string {
	switch {
	case !k.twoModes:
		return ""
	case mode == lockstate.Shared:
		return kindRead
	}
	return kindWrite
}

func (o *ownership) eventKind() string { return o.s.kind.eventKind(o.Mode()) }

// disprove ends the reads of this Client that an answer proves lost: Redis has granted a write. It tells of them on a
// goroutine of its own, as the caller has the turn.
func (s *lockState) disprove(w *waiter, granted bool) {
	if !s.kind.twoModes || !granted {
		return
	}
	s.mu.Lock()
	ended := s.state.Disprove(&w.Waiter, time.Now())
	losses := make([]*LostError, len(ended))
	for i, of := range ended {
		losses[i] = ownershipOf(of).lossErr()
	}
	s.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	tell := func() {
		for i, of := range ended {
			ownershipOf(of).tellFound(losses[i])
		}
	}
	if !s.c.goBackground(tell) {
		tell()
	}
}
