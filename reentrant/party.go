package reentrant

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/internal/lockstate"
	"github.com/redlatch/redlatch/lua"
)

// Origin says to which library a field in a lock's hash belongs.
type Origin string

const (
	FromGo      Origin = "Go"   // Redlatch
	FromJava    Origin = "Java" // Redisson
	FromUnknown Origin = ""     // neither, as it seems
)

// Party is one holder of a lock, or one that waits for it, as far as Redis tells.
type Party struct {
	Field  string // in the lock's hash; empty for a Client of which only that is known. Readers of one Client may share one
	From   Origin
	Client string // ID of the Client, or of the Redisson instance; empty if From is FromUnknown
	Name   string // the Client's name ([WithClientName]), "billing@web-3:411"; empty if it has none
	Here   bool   // it is this Client

	Owner  string // as given to [WithOwner]; "=new-" and a number from [WithNewOwner]; empty with Thread, and for readers that share a field
	Thread int64  // id of the goroutine, in Java of the thread; 0 for an owner that was given

	Reads bool // it has, or waits for, the reading side of a [ReadWriteLock]
}

// String names the Client, or else its ID, and the owner.
func (p Party) String() string {
	s := p.Name
	switch {
	case p.From == FromUnknown:
		return strconv.Quote(p.Field)
	case s == "":
		s = p.Client
	}
	switch {
	case p.Thread != 0 && p.From == FromJava:
		s += fmt.Sprintf(" (Java, thread %d)", p.Thread)
	case p.Thread != 0:
		s += fmt.Sprintf(" (goroutine %d)", p.Thread)
	case p.Owner != "":
		s += fmt.Sprintf(" (owner %q)", p.Owner)
	}
	if p.Reads {
		s += ", reading"
	}
	return s
}

// rwPartyOf is partyOf for a field of a read-write lock.
func rwPartyOf(field string) (p Party, kept bool) {
	owner, reads := lua.RWOwner(field)
	p, kept = partyOf(owner)
	p.Field, p.Reads = field, reads
	if lua.IsSharedReader(field) {
		p.Owner = ""
	}
	return p, kept
}

// partyOf reads a field of this lock.
func (l *Lock) partyOf(field string) (p Party, kept bool) {
	if l.kind.twoModes {
		return rwPartyOf(field)
	}
	return partyOf(field)
}

// partyOf reads a field. kept is true for the field by which [Hold.ReleaseAfter] keeps the lock taken.
func partyOf(field string) (p Party, kept bool) {
	p = Party{Field: field}
	if len(field) < 38 || field[36] != ':' || uuid.Validate(field[:36]) != nil {
		return p, false
	}
	p.Client, p.Owner = field[:36], field[37:]
	switch {
	case lockstate.OfGoroutine(field): // digits alone, which "+1" is not
		p.Thread, _ = strconv.ParseInt(p.Owner, 10, 64)
		p.Owner = ""
	case !ofRedlatch(field):
		return Party{Field: field}, false // Redisson has threads only
	}
	if !ofRedlatch(field) {
		p.From = FromJava
		return p, false
	}
	p.From = FromGo
	if strings.HasPrefix(p.Owner, nobodys) {
		p.Owner = ""
		return p, true
	}
	if rest, escaped := strings.CutPrefix(p.Owner, "="); escaped && explicitOwner(rest) == p.Owner {
		p.Owner = rest
	}
	return p, false
}
