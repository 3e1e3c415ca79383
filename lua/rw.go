package lua

import (
	"context"
	"strings"
	"time"
)

// A read-write lock has a field for each reader and one for the writer. An owner is `<client id>:<name>`, as in
// the hash of a lock of another kind. Its field as a writer is Redisson's. Its field as a reader is one that
// no other owner has: a name that is given with a '=' first is kept with another one.
const (
	readerInfix  = "=reader:"
	sharedReader = "=readers"
	writerSuffix = ":write"
	ownerBegin   = 37 // behind the client's UUID and a colon
)

// ReaderField is the field of an owner that reads.
func ReaderField(owner string) string {
	client, name, _ := strings.Cut(owner, ":")
	return client + ":" + readerInfix + name
}

// SharedReaderField is the field that all readers of a client have together, if none of them has one of its own.
func SharedReaderField(client string) string { return client + ":" + sharedReader }

// IsSharedReader reports whether a field is [SharedReaderField] of a client.
func IsSharedReader(field string) bool {
	_, name, _ := strings.Cut(field, ":")
	return name == sharedReader
}

// WriterField is the field of an owner that writes.
func WriterField(owner string) string { return owner + writerSuffix }

// RWOwner is the owner of a field that [ReaderField] or [WriterField] has made, or Redisson. reads says that it is
// a reader's.
func RWOwner(field string) (owner string, reads bool) {
	client, name, _ := strings.Cut(field, ":")
	if name, reads = strings.CutPrefix(name, readerInfix); reads {
		return client + ":" + name, true
	}
	owner, writes := strings.CutSuffix(field, writerSuffix)
	return owner, !writes
}

// RWAcquire asks for a read-write lock. Nonce, Claim and Departed do not matter: no release grants it.
type RWAcquire Acquire

func (a *RWAcquire) line(k *Keys) []any {
	n := k.several(epochs, turns, waiters, readers, barriers)
	keys := append(make([]string, 0, 7), k.Lock, n[0], n[1], n[2], n[3], n[4])
	owner, reads := RWOwner(a.Owner)
	script := writeAcquireScript
	switch {
	case reads:
		script = readAcquireScript
		keys = append(keys, k.Marker(a.Owner))
	case a.Fencing:
		keys = append(keys, k.Token())
	}
	line := append(script.line(12, keys...), a.Owner, ms(a.Lease), a.Order.Number, ms(a.Order.Epoch),
		a.Client, ms(a.Register), a.Since, flag(a.AfterRedisson))
	if reads {
		line = append(line, WriterField(owner))
	}
	line = append(line, flag(a.ReadersFirst))
	if a.Joins {
		line = append(line, k.Channel(), a.Wake.how)
	}
	return line
}

// Run sends the command.
func (a RWAcquire) Run(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	if _, reads := RWOwner(a.Owner); reads {
		return acquired(readAcquireScript.runLine(ctx, p, a.line(k)))
	}
	return acquired(writeAcquireScript.runLine(ctx, p, a.line(k)))
}

// Launch begins to send the command, and returns nil if it does not. [Flight.Acquired] has the result.
func (a RWAcquire) Launch(ctx context.Context, by Launcher, k *Keys) *Flight {
	return launch(ctx, by, a.line(k))
}

// RWRelease ends a hold on a read-write lock, whatever the hold count.
type RWRelease Release

func (r *RWRelease) line(k *Keys) []any {
	n := k.several(epochs, turns, waiters, readers, barriers, channels)
	keys := append(make([]string, 0, 7), k.Lock, n[0], n[1], n[2], n[3], n[4])
	if _, reads := RWOwner(r.Owner); reads {
		keys = append(keys, k.Marker(r.Owner))
	}
	return append(rwReleaseScript.line(6, keys...), r.Owner, r.Order.Number, ms(r.Order.Epoch), k.markers(), n[5], r.Wake.how)
}

// Run sends the command. epochSet is as in [Release.Run].
func (r RWRelease) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	return (*Release)(&r).freed(rwReleaseScript.runLine(ctx, p, r.line(k)))
}

// Launch begins to send the command, and returns nil if it does not. [Flight.Freed] has the result.
func (r RWRelease) Launch(ctx context.Context, by Launcher, k *Keys) *Flight {
	return launch(ctx, by, r.line(k))
}

// RWCount sets the hold count of an owner of a read-write lock.
type RWCount Count

// Run sends the command.
func (c RWCount) Run(ctx context.Context, p Processor, k *Keys) (Granted, error) {
	if _, reads := RWOwner(c.Owner); !reads {
		return Count(c).Run(ctx, p, k)
	}
	code, err := readCountScript.runNumber(ctx, p, []string{k.Lock, k.Epoch(), k.Marker(c.Owner)},
		c.Owner, c.Count, ms(c.Lease), c.Order.Number, ms(c.Order.Epoch))
	return Granted{Verdict: verdict(code)}, err
}

// RWLinger takes a read-write lock from Owner and leaves its place to Nobody, until Redis ends that. With Keep, Owner
// stays beside it, for the other readers that have the field.
type RWLinger Linger

// Run sends the command. epochSet is as in [Release.Run].
func (l RWLinger) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, epochSet bool, err error) {
	keys := []string{k.Lock, k.Epoch(), k.Waiters(), k.Readers()}
	nobody := WriterField(l.Nobody)
	if _, reads := RWOwner(l.Owner); reads {
		nobody = ReaderField(l.Nobody)
		keys = append(keys, k.Marker(l.Owner), k.Marker(nobody))
	}
	code, err := rwLingerScript.runNumber(ctx, p, keys,
		l.Owner, nobody, ms(l.While), l.Order.Number, ms(l.Order.Epoch), k.markers(), k.Channel(), l.Wake.how, flag(l.Keep))
	if err != nil {
		return 0, false, err
	}
	v = verdict(code)
	return v, l.Order.Epoch > 0 && v != Stale, nil
}

// RWLeave takes a client out of the registries of a read-write lock. Owners does not matter.
type RWLeave Leave

// Run sends the command. v is Done, or Stale.
func (l RWLeave) Run(ctx context.Context, p Processor, k *Keys) (v Verdict, err error) {
	n := k.several(epochs, turns, waiters, readers, barriers, channels)
	answer, err := rwLeaveScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2], n[3], n[4]},
		l.Client, l.Order.Number, ms(l.Order.Epoch), n[5], l.Wake.how)
	switch {
	case err != nil:
		return 0, err
	case answer < 0:
		return Stale, nil
	}
	return Done, nil
}

// side is a mode as the scripts write it.
func side(reads bool) string {
	if reads {
		return "read"
	}
	return "write"
}

// RWForce ends all reads, or the write hold, of any owner, and reports whether there were any. With a holder, which is a
// field of the hash, it ends only that one.
func RWForce(ctx context.Context, p Processor, k *Keys, w Wake, reads bool, holder string) (bool, error) {
	n := k.several(turns, waiters, readers, barriers, channels)
	freed, err := rwForceScript.runNumber(ctx, p, []string{k.Lock, n[0], n[1], n[2], n[3]},
		only(holder, side(reads), k.markers(), n[4], w.how)...)
	return freed == 1, err
}

// RWInspect reads the side of the owner's field from the master.
func RWInspect(ctx context.Context, p Processor, k *Keys, owner string) (Inspection, error) {
	keys := []string{k.Lock}
	_, reads := RWOwner(owner)
	if reads {
		keys = append(keys, k.Marker(owner))
	}
	return inspection(rwInspectScript.run(ctx, p, keys, owner, side(reads)))
}

// ReadRWReport reads the lock from the master. With fencing it also reads the counter, for which the
// user needs a right.
func ReadRWReport(ctx context.Context, p Processor, k *Keys, w Wake, fencing bool) (Report, error) {
	keys := []string{k.Lock, k.Waiters(), k.Readers()}
	if fencing {
		keys = append(keys, k.Token())
	}
	reply, err := rwReportScript.run(ctx, p, keys, k.Channel(), w.how)
	if err != nil {
		return Report{}, err
	}
	r := reportOf(reply)
	r.Mode = text(reply, 6)
	r.Reading = waitingOf(reply, 7)
	return r, nil
}

// readersTogether is how many readers one script renews at most.
const readersTogether = renewTogether / 2

// readRenewal is the run of read_renew for readers.
func readRenewal(readers []FieldOwner, lease time.Duration) *invocation {
	v := &invocation{script: readRenewScript, of: len(readers), args: []any{ms(lease)}}
	for _, r := range readers {
		v.keys = append(v.keys, r.Marker, r.Lock)
		v.args = append(v.args, r.Owner)
	}
	return v
}
