package watchdog

import (
	"context"
	"fmt"
)

// Close ends renewal. It waits, until ctx ends, for the watchdog's goroutine and for the renewals in
// flight, whose ctx ends at once. Leases that are still watched are not reported lost and stay
// registered: Remove still returns true for them. Close may be called again, and waits again. It
// returns nil when no goroutine is left, otherwise an error that wraps ctx's cause ([context.Cause]).
func (w *Watchdog) Close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		w.cancel()
		close(w.done)
		if w.running == 0 {
			close(w.gone)
		}
	}
	w.mu.Unlock()

	select {
	case <-w.gone:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-w.gone: // both channels may have been ready: the choice must not be left to chance
		return nil
	default:
		return fmt.Errorf("watchdog: renewals still in flight at close: %w", context.Cause(ctx))
	}
}

// leftOpen notes that a goroutine of the watchdog has ended. The mutex must be held.
func (w *Watchdog) leftOpen() {
	w.running--
	if w.closed && w.running == 0 {
		close(w.gone)
	}
}
