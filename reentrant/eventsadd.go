package reentrant

// and returns functions that each call the function of e, and after it the function of other.
func (e Events) and(other Events) Events {
	return Events{
		Waiting:      both(e.Waiting, other.Waiting),
		Woken:        both(e.Woken, other.Woken),
		Acquired:     both(e.Acquired, other.Acquired),
		Reentered:    both(e.Reentered, other.Reentered),
		NotAcquired:  both(e.NotAcquired, other.NotAcquired),
		HandedOver:   both(e.HandedOver, other.HandedOver),
		Renewed:      both(e.Renewed, other.Renewed),
		RenewFailed:  both(e.RenewFailed, other.RenewFailed),
		Lost:         both(e.Lost, other.Lost),
		Released:     both(e.Released, other.Released),
		Unconfirmed:  both(e.Unconfirmed, other.Unconfirmed),
		Resubscribed: both(e.Resubscribed, other.Resubscribed),
	}
}

// both returns a function that calls two. It calls the second also if the first panics: they belong to
// two parts of the program, which do not know each other.
func both(first, second func(Event)) func(Event) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(e Event) {
		defer second(e)
		first(e)
	}
}
