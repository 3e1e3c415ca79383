package redlatchtest

import (
	"testing"

	"github.com/redlatch/redlatch/reentrant"
)

// RequireHeld stops the test if no owner holds the lock, in any process. [reentrant.Lock.IsHeld] tells whether the
// caller does.
func RequireHeld(t testing.TB, l *reentrant.Lock) {
	t.Helper()
	if info := look(t, l); !info.Held || info.Kept {
		t.Fatalf("redlatchtest: a lock is not held: %v", info)
	}
}

// RequireFree stops the test if an owner holds the lock, in any process, or if [reentrant.Hold.ReleaseAfter] keeps it
// taken. The error names the holder.
func RequireFree(t testing.TB, l *reentrant.Lock) {
	t.Helper()
	if info := look(t, l); info.Held {
		t.Fatalf("redlatchtest: a lock is not free: %v", info)
	}
}

func look(t testing.TB, l *reentrant.Lock) reentrant.Info {
	t.Helper()
	ctx, cancel := limited(t)
	defer cancel()
	info, err := l.Info(ctx)
	if err != nil {
		t.Fatalf("redlatchtest: looking at lock %q: %v", l.Name(), err)
	}
	return info
}
