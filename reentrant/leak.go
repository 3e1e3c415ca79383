package reentrant

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// watchLeak has it logged if the Hold becomes garbage while it is held: nobody can release it any more, and the
// watchdog renews the lock as long as the process lives. A fixed lease ends by itself. Some callers let it.
func (h *Hold) watchLeak() {
	if !h.kind.fixed {
		h.leak = runtime.AddCleanup(h, leak.tell, leak{h.handle, time.Now()})
	}
}

// leak is what is left of a Hold that is garbage.
type leak struct {
	*handle
	acquired time.Time
}

// tell runs on a goroutine of the runtime's.
func (l leak) tell() {
	s := l.h.s
	s.mu.Lock()
	held := l.h.state == live && !l.released
	s.mu.Unlock()
	if held {
		s.c.observer.leaked(
			slog.String("lock", s.name), slog.String("owner", l.h.owner), slog.Time("acquired", l.acquired))
	}
}

// leaked has no event: the mistake is one of the program's, and no figure of a lock.
func (o *observer) leaked(attrs ...slog.Attr) {
	logger := o.logger
	if logger == nil && o.incidents != nil {
		logger = slog.Default()
	}
	if logger != nil {
		logger.LogAttrs(context.Background(), slog.LevelWarn, "redlatch: a hold was dropped and not released, the lock stays taken", attrs...)
	}
}
