package reentrant_test

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/reentrant"
)

// events notes each event of a Client as its owner's, or the Client's if it has none.
func (s *scene) events(client string) reentrant.Events {
	tell := func(name string) func(reentrant.Event) {
		return func(e reentrant.Event) {
			who := cmp.Or(s.words.plain(e.Owner), client)
			s.note(who, "event "+name+s.words.event(e, s))
		}
	}
	return reentrant.Events{
		Waiting:      tell("Waiting"),
		Acquired:     tell("Acquired"),
		Reentered:    tell("Reentered"),
		NotAcquired:  tell("NotAcquired"),
		HandedOver:   tell("HandedOver"),
		Renewed:      tell("Renewed"),
		RenewFailed:  tell("RenewFailed"),
		Lost:         tell("Lost"),
		Released:     tell("Released"),
		Unconfirmed:  tell("Unconfirmed"),
		Resubscribed: tell("Resubscribed"),
	}
}

// event tells the fields that are set.
func (w *words) event(e reentrant.Event, s *scene) string {
	var b strings.Builder
	field := func(set bool, format string, arg any) {
		if set {
			fmt.Fprintf(&b, ", "+format, arg)
		}
	}
	field(e.From != "", "from %s", w.plain(e.From))
	field(e.Holder != "", "holder %s", w.plain(e.Holder))
	field(e.Count != 0, "count %d", e.Count)
	if e.Token != 0 {
		field(true, "token %s", w.token(e.Token))
	}
	field(e.Waited != 0, "waited %s", short(e.Waited))
	field(e.Held != 0, "held %s", short(e.Held))
	field(!e.ValidUntil.IsZero(), "valid until +%s", short(e.ValidUntil.Sub(s.began)))
	field(e.Locks != 0, "%d locks", e.Locks)
	if e.Err != nil {
		field(true, "%s", w.error(e.Err))
	}
	return b.String()
}
