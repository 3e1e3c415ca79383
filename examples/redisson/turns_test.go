//go:build interop

package redisson_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// turn is one hold of a lock, on the clock that both sides share.
type turn struct {
	java             bool
	worker           string
	began, got, left int64 // µs since 1970: asked for the lock, had it, began to give it back
}

func (u turn) wait() time.Duration { return time.Duration(u.got-u.began) * time.Microsecond }

// javaTurns reads the result of the commands count-up and take-turns.
func javaTurns(t testing.TB, list string) (turns []turn) {
	t.Helper()
	for text := range strings.SplitSeq(list, ",") {
		f := strings.Split(text, ":")
		if len(f) != 4 {
			t.Fatalf("not a turn: %q", text)
		}
		turns = append(turns, turn{
			java: true, worker: "java " + f[0],
			began: number(t, f[1]), got: number(t, f[2]), left: number(t, f[3]),
		})
	}
	return turns
}

// goTurns takes the lock as long as again says, does work under it, and returns
// the turns it had.
func goTurns(ctx context.Context, worker string, l *reentrant.Lock, again func() bool, work func() error) (turns []turn, err error) {
	for again() {
		u := turn{worker: worker, began: time.Now().UnixMicro()}
		if err := l.Lock(ctx); err != nil {
			return turns, err
		}
		u.got = time.Now().UnixMicro()
		if err := work(); err != nil {
			return turns, err
		}
		u.left = time.Now().UnixMicro()
		if err := l.Unlock(ctx); err != nil {
			return turns, err
		}
		turns = append(turns, u)
	}
	return turns, nil
}

// wantApart checks that no two turns overlap, and puts them into their order.
func wantApart(t testing.TB, turns []turn) {
	t.Helper()
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.got, b.got) })
	for i := 1; i < len(turns); i++ {
		if before, after := turns[i-1], turns[i]; after.got < before.left {
			t.Fatalf("%s had the lock %d µs before %s gave it back", after.worker, before.left-after.got, before.worker)
		}
	}
}

// changes counts how often the lock went from one side to the other.
func changes(turns []turn) (n int) {
	for i := 1; i < len(turns); i++ {
		if turns[i].java != turns[i-1].java {
			n++
		}
	}
	return n
}
