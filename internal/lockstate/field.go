package lockstate

import "time"

// field is the entry of this Client's owner in the lock's hash, as far as the Client knows it. It is part
// of a lease. It changes only while the engine has the turn to send a command.
//
//	at rest    next is empty: the entry is owner's
//	moving     next is set: a command that moves the entry was sent, or is about to be; the entry is owner's or next's
type field struct {
	owner    string
	next     string
	moveSent time.Time // when the move was sent first

	// Whose hold count the entry has. After a write-behind hand-off to an earlier owner it may have the
	// count of the owner's earlier ownership.
	countOf *Ownership
	nested  bool // the count was, or may have been, other than 1
}

func (f *field) moving() bool { return f.next != "" }

// standsFor reports whether the entry is the owner's, or may be.
func (f *field) standsFor(owner string) bool { return f.owner == owner || f.next == owner }

// owners are the owners whose entry it may be.
func (f *field) owners() []string {
	if f.moving() {
		return []string{f.owner, f.next}
	}
	return []string{f.owner}
}

// syncedFor reports whether the entry is known to be o's, with o's hold count.
func (f *field) syncedFor(o *Ownership) bool {
	return !f.moving() && f.owner == o.owner && (f.countOf == o || !f.nested)
}

// beginMove notes a move to that owner, which is about to be sent.
func (f *field) beginMove(to string, now time.Time) { f.next, f.moveSent = to, now }

// moved notes that Redis has confirmed the move. The script sets the count to 1.
func (f *field) moved() { f.owner, f.next, f.nested = f.next, "", false }

// notMoved notes that the move has not run, and will not.
func (f *field) notMoved() { f.next = "" }

// counted notes a command that sets the hold count for o, which is about to be sent or was confirmed.
// nested is false only if the count is 1 for certain.
func (f *field) counted(o *Ownership, nested bool) { f.countOf, f.nested = o, nested }
