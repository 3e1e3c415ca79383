package multilock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/reentrant"
)

// deafToScripts has a server answer no script until the function it returns is called, and
// everything else: what CLIENT PAUSE WRITE does.
func (s *virtualServer) deafToScripts() (end func()) {
	blocked := make(chan struct{})
	s.watch(func(cmd string) {
		if cmd == "EVALSHA" || cmd == "EVAL" {
			<-blocked
		}
	})
	return func() { close(blocked) }
}

// Upkeep gives a member back whose server was replaced, and that takes long. Release ends
// with its own ctx all the same.
func TestReleaseEndsWithItsCtx(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		const long = 30 * time.Second
		a := v.processWith(nil, reentrant.WithLease(long))
		hold, err := a.quorum(t, name, multilock.WithMemberLimit(long/3)).Acquire(v.ctx)
		must(t, err)
		v.pass(time.Second)
		v.s[1].replace()
		end := v.s[1].deafToScripts()
		defer end()
		v.pass(long / 3)
		if !errors.Is(hold.Members()[1].Err, multilock.ErrQuarantined) {
			t.Fatalf("not given back: %+v", hold.Members()[1])
		}
		ctx, cancel := context.WithTimeout(v.ctx, 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		_ = hold.Release(ctx) // confirmed by the other two or not
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// answersOnly has a server answer so many commands of a quorum, the first after a delay,
// and none after that until the function it returns is called.
func (s *virtualServer) answersOnly(n int32, delay time.Duration) (end func()) {
	blocked := make(chan struct{})
	var seen atomic.Int32
	s.watch(func(cmd string) {
		if cmd != "EVALSHA" && cmd != "INFO" {
			return
		}
		if seen.Add(1) > n {
			<-blocked
		}
		time.Sleep(delay)
	})
	return func() { close(blocked) }
}

// What a single attempt costs at the most: one server is slow and falls silent after its grant, and
// another after its check.
func TestSingleAttemptWhenServersFallSilent(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		a := v.process()
		l := a.quorum(t, name)
		must(t, l.Lock(v.ctx)) // and so the servers know the scripts
		must(t, l.Unlock(v.ctx))
		ends := []func(){v.s[0].answersOnly(1, limit-time.Millisecond), v.s[1].answersOnly(2, 0)}
		v.s[2].refuse("ERR down")
		began := time.Now()
		ok, err := l.TryLock(v.ctx, 0, 0)
		took := time.Since(began)
		if ok {
			t.Error("granted")
		}
		wants(t, err, multilock.ErrNoAnswer)
		if took > 3*limit {
			t.Errorf("took %v, want three times the members' limit of %v at the most", took, limit)
		}
		for i, end := range ends {
			v.s[i].watch(nil)
			end()
		}
		v.pass(lease / 4)
		v.wantHolders("---", name, a)
	})
}

// No server reports a loss by silence. Its error names the servers that were silent all the same, and
// not the one that was not.
func TestLossNamesSilentServers(t *testing.T) {
	inVirtualTime(t, 3, func(t *testing.T, v *virtual) {
		hold, err := v.process().quorum(t, name).Acquire(v.ctx, reentrant.WithFixedLease(time.Hour))
		must(t, err)
		v.pass(time.Minute)
		for _, s := range v.s[:2] {
			defer s.silence()()
		}
		<-hold.Lost()
		err = context.Cause(hold.Context())
		wants(t, err, reentrant.ErrLost, multilock.ErrNoAnswer)
		var lost *multilock.LostError
		if !errors.As(err, &lost) || len(lost.Members) != 2 || lost.Valid != 1 {
			t.Fatalf("%v", err)
		}
		for i, m := range lost.Members {
			if m.Server != hold.Members()[i].Server || !strings.Contains(err.Error(), m.Server) {
				t.Errorf("member %d: %v", i, m)
			}
		}
	})
}

// The same where the server answers, but not to that question: its words are passed on.
func TestLossTellsWhyAServerIsNotTrusted(t *testing.T) {
	inVirtualTime(t, 1, func(t *testing.T, v *virtual) {
		hold, err := v.process().quorum(t, name).Acquire(v.ctx)
		must(t, err)
		v.s[0].mu.Lock()
		v.s[0].mute = true
		v.s[0].mu.Unlock()
		<-hold.Lost()
		err = context.Cause(hold.Context())
		wants(t, err, reentrant.ErrLost)
		if !strings.Contains(err.Error(), "10.0.0.1:6379") || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("does not say what the server said: %v", err)
		}
	})
}
