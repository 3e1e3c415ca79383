package multilock

import (
	"context"
	"errors"
)

// byDeadline reports whether the deadline of the program's ctx has ended ctx. The limit that an outer
// MultiLock sets for an attempt on its members is no deadline of the program's: the outer one says what came of it.
func byDeadline(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(context.Cause(ctx), errSilent)
}

// overdue reports whether a call that ended because of err has been ended by its ctx's deadline.
func (a *acquisition) overdue(err error) bool {
	return byDeadline(a.caller) && errors.Is(err, context.DeadlineExceeded)
}
