package reentrant

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// watchLeak makes the Client log a Hold that becomes garbage while it is held. No caller can release it
// any more, and the watchdog renews the lock as long as the process lives. Some callers let a fixed lease
// end by itself, so watchLeak does nothing for one.
func (h *Hold) watchLeak() {
	if !h.kind.Fixed {
		h.leak = runtime.AddCleanup(h, leak.tell, leak{h.handle, time.Now()})
	}
}

// leak is what is left of a Hold that is garbage.
type leak struct {
	*handle
	acquired time.Time
}

// tell runs on a goroutine of the runtime.
func (l leak) tell() {
	s := l.h.s
	s.mu.Lock()
	held := l.h.live() && !l.released
	s.mu.Unlock()
	if held {
		s.c.observer.leaked(
			slog.String("lock", s.name), slog.String("owner", l.h.Owner()), slog.Time("acquired", l.acquired))
	}
}

// leaked logs a mistake of the program. It has no event: it says nothing about a lock.
func (o *observer) leaked(attrs ...slog.Attr) {
	logger := o.logger
	if logger == nil && o.incidents != nil {
		logger = slog.Default()
	}
	if logger != nil {
		logger.LogAttrs(context.Background(), slog.LevelWarn, "redlatch: a hold was dropped and not released, the lock stays taken", attrs...)
	}
}
