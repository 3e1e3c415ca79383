package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redlatch/redlatch/examples/internal/demo"
	"github.com/redlatch/redlatch/reentrant"
)

// settle is the handler of an order. The lock is held while it runs, and its ctx ends with
// the lock.
func (n *node) settle(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	n.enter(r.PathValue("id"))
	if r.FormValue("panic") != "" {
		panic("a bug in the handler")
	}
	work, err := time.ParseDuration(r.FormValue("work"))
	if err != nil {
		work = 10 * time.Millisecond
	}
	if err := demo.Sleep(ctx, work); err != nil {
		// The work was given up half-way. If the client is gone nobody reads this.
		if errors.Is(err, reentrant.ErrLost) {
			http.Error(w, "given up: "+lossOf(err), http.StatusServiceUnavailable)
		}
		return
	}
	count, err := n.book(ctx, r.PathValue("id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "settled by %s, booked with hold count %d\n", n.url, count)
}

// book is called from elsewhere too, so it takes the order's lock itself. From settle it
// re-enters, since it is given the ctx of the hold.
func (n *node) book(ctx context.Context, id string) (count int, err error) {
	lock := n.locks.NewLock(n.prefix + id)
	err = lock.Do(ctx, func(ctx context.Context) error {
		count, err = lock.HoldCount(ctx)
		return err
	})
	return count, err
}

func lossOf(err error) string {
	var lost *reentrant.LostError
	if errors.As(err, &lost) {
		return string(lost.Reason)
	}
	return err.Error()
}
