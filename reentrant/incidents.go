package reentrant

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// incidents tells slog.Default of what no call may ever return: a lock that was lost while the program
// does not look, and renewals that fail, from which losses come. When Redis is away, all locks are lost
// at once, and each renewal fails again and again. So lines are rationed: the first lines say what is
// wrong and where, and the others would push them out of sight. A nil incidents tells nothing.
type incidents struct {
	losses   ration
	renewals ration
}

const (
	rationed    = time.Minute
	lossLines   = 10
	renewalLine = 1
)

func (i *incidents) lost(e Event) {
	if i != nil {
		i.losses.log(lossLines, slog.LevelError, "redlatch: lost", e)
	}
}

func (i *incidents) renewFailed(e Event) {
	if i != nil {
		i.renewals.log(renewalLine, slog.LevelWarn, "redlatch: renewal failed", e)
	}
}

// ration counts the lines of one kind in the present minute.
type ration struct {
	mu       sync.Mutex
	since    time.Time // the first line of this minute; guarded by mu
	lines    int       // in this minute; guarded by mu
	unlogged int       // since the last line; guarded by mu
}

// log writes a line about e if there were fewer than most in this minute, and counts e otherwise.
func (r *ration) log(most int, level slog.Level, message string, e Event) {
	unlogged, granted := r.take(most, time.Now())
	if !granted {
		return
	}
	attrs := e.attrs()
	if unlogged > 0 {
		attrs = append(attrs, slog.Int("unlogged", unlogged))
	}
	ctx := e.Ctx
	if ctx == nil {
		ctx = context.Background() // it happened in no call
	}
	slog.Default().LogAttrs(ctx, level, message, attrs...)
}

// take reports whether a line may be written now, and how many records had no line since the last one.
func (r *ration) take(most int, now time.Time) (unlogged int, granted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() || now.Sub(r.since) >= rationed {
		r.since, r.lines = now, 0
	}
	if r.lines == most {
		r.unlogged++
		return 0, false
	}
	r.lines++
	unlogged, r.unlogged = r.unlogged, 0
	return unlogged, true
}
