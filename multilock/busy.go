package multilock

import (
	"context"
	"errors"
)

// byDeadline reports whether the deadline of the program's ctx has ended ctx. An outer MultiLock
// limits each attempt on its members by a deadline too. That one does not count: the outer MultiLock
// itself reports what came of the attempt.
func byDeadline(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(context.Cause(ctx), errSilent)
}

// overdue reports whether err ended the call and was itself the deadline of the program's ctx.
func (a *acquisition) overdue(err error) bool {
	return byDeadline(a.caller) && errors.Is(err, context.DeadlineExceeded)
}
