package chaos

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// classic uses the methods that Redisson's users know. Their holds say nothing of their
// validity: such a hold is trusted until Unlock is called, unless that says that it was lost,
// or that the Client was closed under it.
func (e errand) classic() {
	op, _ := e.request()
	var id int64
	var ok bool
	var err error
	switch e.random.IntN(3) {
	case 0:
		op.Wait, op.Fixed, op.Lease = -1, false, lease
		id = e.r.log.Call(op)
		err = e.lock.Lock(e.ctx)
		ok = err == nil
	case 1:
		op.Wait, op.Fixed, op.Lease = -1, true, 50*time.Millisecond+e.upTo(300*time.Millisecond)
		id = e.r.log.Call(op)
		err = e.lock.LockLease(e.ctx, op.Lease)
		ok = err == nil
	default:
		op.Wait = max(op.Wait, 0)
		asked := time.Duration(0) // renewed
		if op.Fixed {
			asked = op.Lease
		}
		id = e.r.log.Call(op)
		ok, err = e.lock.TryLock(e.ctx, op.Wait, asked)
	}
	if !ok {
		e.r.log.Return(id, func(op *history.Op) {
			op.Outcome = history.Refused
			if err != nil {
				failed(err)(op)
			}
		})
		return
	}
	e.r.log.Return(id, func(op *history.Op) { op.Outcome, op.Hold = history.OK, id })
	e.work(nil)
	e.unlock(id)
}

// unlock releases a hold that Lock made; 0 if there is none.
func (e errand) unlock(hold int64) {
	ctx, cancel := e.patience()
	defer cancel()
	op := e.op(history.Release)
	op.Hold = hold
	id := e.r.log.Call(op)
	err := e.lock.Unlock(ctx)
	e.r.log.Return(id, func(op *history.Op) {
		op.Outcome = released(err)
		if err != nil {
			op.Note = err.Error()
		}
	})
}

// stray unlocks what it does not hold.
func (e errand) stray() { e.unlock(0) }

// do runs the work inside Do.
func (e errand) do() {
	op := e.op(history.Acquire)
	op.Lease, op.Wait = lease, -1
	ctx, cancel := context.WithTimeout(e.ctx, 50*time.Millisecond+e.upTo(2*time.Second))
	defer cancel()
	var release int64
	id := e.r.log.Call(op)
	err := e.lock.Do(ctx, func(ctx context.Context) error {
		e.r.log.Return(id, func(op *history.Op) { op.Outcome, op.Hold = history.OK, id })
		context.AfterFunc(ctx, func() {
			if lostBy(ctx) {
				lost := e.op(history.Lost)
				lost.Hold, lost.Outcome = id, history.OK
				e.r.log.Add(lost)
			}
		})
		e.work(ctx.Done())
		over := e.op(history.Release)
		over.Hold = id
		release = e.r.log.Call(over)
		return nil
	})
	if release == 0 {
		e.r.log.Return(id, failed(err))
		return
	}
	e.r.log.Return(release, func(op *history.Op) {
		op.Outcome = released(err)
		if err != nil {
			op.Note = err.Error()
		}
	})
}

// ask asks. The answers are not looked at: nobody keeps the lock as it is meanwhile.
func (e errand) ask() {
	ctx, cancel := context.WithTimeout(e.ctx, time.Second)
	defer cancel()
	_, _ = e.lock.IsLocked(ctx)
	_, _ = e.lock.IsHeld(ctx)
	_, _ = e.lock.HoldCount(ctx)
	_, _ = e.lock.TTL(ctx)
}
