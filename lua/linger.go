package lua

import (
	"context"
	"time"
)

// Linger takes the lock from Owner and leaves it to Nobody, until Redis frees it.
type Linger struct {
	Owner  string
	Nobody string        // a field that no owner has, and another one each time
	While  time.Duration // more than 0
	Keep   bool          // RWLinger: Owner's field stays beside Nobody's
	Order  Order
	Wake   Wake // how waiters are told
}

// Run sends the command. epochSet is as in [Release.Run].
func (l Linger) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	code, err := lingerScript.runNumber(ctx, p, []string{k.Lock, k.Epoch(), k.Waiters()},
		l.Owner, l.Nobody, ms(l.While), l.Order.Number, ms(l.Order.Epoch), k.Channel(), l.Wake.how)
	if err != nil {
		return 0, false, err
	}
	v = verdict(code)
	return v, l.Order.Epoch > 0 && v != Stale, nil
}
