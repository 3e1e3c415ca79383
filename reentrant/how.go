package reentrant

// How says how a call got the lock, or why it tries again.
type How string

const (
	HowFree       How = "free"       // its first attempt found the lock free
	HowMessage    How = "message"    // a release woke it, or granted it the lock
	HowTTL        How = "ttl"        // the holder's lease was over
	HowPoll       How = "poll"       // no message came for so long that it looked by itself
	HowSubscribed How = "subscribed" // the subscription was confirmed, or renewed
	HowHandoff    How = "handoff"    // another owner of the same Client handed the lock over
	HowShared     How = "shared"     // a read began on the lease of other reads, without a command
)

// causes are the reasons to try again, indexed by cause.
var causes = [...]How{byMessage: HowMessage, byTTL: HowTTL, byPoll: HowPoll, bySubscription: HowSubscribed}

// wake notes why the waiter tries again. An attempt that is repeated after a failure keeps the reason of
// the first one.
func (w *waiter) wake(why cause) { w.woken, w.wokenBy = true, why }

// how is how an attempt of the waiter got the lock.
func (w *waiter) how() How {
	if !w.woken {
		return HowFree
	}
	return causes[w.wokenBy]
}

// tellWoken tells the event Woken.
func (s *lockState) tellWoken(w *waiter) {
	if s.c.events.Woken == nil && s.c.logger == nil {
		return
	}
	s.c.observer.woken(Event{
		Ctx: w.ctx, Call: w.number, Name: s.name, Kind: s.kind.eventKind(w.Mode), Owner: w.Owner, How: w.how(),
	})
}
