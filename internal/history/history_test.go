package history_test

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/history"
)

// lease is a hold without a lock.
type lease struct{ until time.Time }

func (l *lease) ValidUntil() time.Time { return l.until }

func TestLogFollowsAHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := history.New()
		time.Sleep(time.Second)
		id := log.Call(history.Op{Kind: history.Acquire, Client: 3, Owner: "3/a", Lock: "l", Wait: -1})
		if op := log.Snapshot().Ops[0]; op.Returned() || op.Outcome != history.Unknown {
			t.Errorf("an open call is %v", op)
		}
		time.Sleep(time.Second)
		hold := &lease{until: time.Now().Add(10 * time.Second)}
		held := log.Granted(id, hold, 42)
		time.Sleep(time.Second)
		hold.until = time.Now().Add(20 * time.Second) // renewed
		done := held.Releasing()
		time.Sleep(time.Second)
		held.Lost()
		held.Lost() // the first one counts
		done(history.Gone, nil)

		s := history.Instant(time.Second)
		want := []history.Op{
			{ID: 1, Kind: history.Acquire, Client: 3, Owner: "3/a", Lock: "l", Hold: 1, Wait: -1,
				Call: s, Return: 2 * s, Outcome: history.OK, Token: 42, ValidUntil: 12 * s},
			{ID: 2, Kind: history.Release, Client: 3, Owner: "3/a", Lock: "l", Hold: 1,
				Call: 3 * s, Return: 4 * s, Outcome: history.Gone, ValidUntil: 23 * s},
			{ID: 3, Kind: history.Lost, Client: 3, Owner: "3/a", Lock: "l", Hold: 1,
				Call: 4 * s, Return: 4 * s, Outcome: history.OK, ValidUntil: 23 * s},
		}
		if got := log.Take().Ops; !reflect.DeepEqual(got, want) {
			t.Errorf("recorded\n%+v, want\n%+v", got, want)
		}
		if h := log.Snapshot(); len(h.Ops) > 0 {
			t.Errorf("Take has left %v", h)
		}
	})
}

// What returns after Take belongs to no history any more.
func TestLogForgetsWhatWasTaken(t *testing.T) {
	t.Parallel()
	log := history.New()
	id := log.Call(history.Op{Kind: history.Acquire})
	log.Take()
	log.Call(history.Op{Kind: history.Acquire})
	log.Return(id, func(*history.Op) { t.Error("a record was found that had been taken") })
}

func TestLogManyGoroutines(t *testing.T) {
	t.Parallel()
	log := history.New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				f := log.Begin(history.Fault{Kind: "f"})
				id := log.Call(history.Op{Kind: history.Acquire})
				log.Return(id, func(op *history.Op) { op.Outcome = history.Refused })
				log.End(f)
			}
		})
	}
	wg.Wait()
	h := log.Take()
	if len(h.Ops) != 1600 || len(h.Faults) != 1600 {
		t.Fatalf("%d operations and %d faults, want 1600 of each", len(h.Ops), len(h.Faults))
	}
	for i, op := range h.Ops {
		if op.Outcome != history.Refused || op.Return < op.Call {
			t.Errorf("record %v", op)
		}
		if i > 0 && (op.ID <= h.Ops[i-1].ID || op.Call < h.Ops[i-1].Call) {
			t.Errorf("%v comes after %v", op, h.Ops[i-1])
		}
	}
	for _, f := range h.Faults {
		if f.End < f.Start || f.End == history.Never {
			t.Errorf("fault %v", f)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	head := history.Head{Seed: 1 << 63, Round: 2, Note: "why"}
	h := history.History{
		Ops: []history.Op{
			{ID: 7, Kind: history.Counted, Lock: "l", Got: map[string]int{"me": 2}, Want: 2, Return: history.Never},
			{ID: 8, Kind: history.Acquire, Token: 1<<53 - 1, Lease: time.Second, Note: "two\nlines"},
		},
		Faults: []history.Fault{{ID: 6, Kind: "stop", Start: 1, End: 2, Client: history.Everyone, Outlasts: true}},
	}
	var file bytes.Buffer
	if err := history.Write(&file, head, h); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(file.String(), "\n"); n != 4 {
		t.Errorf("%d lines, want one for each of 4 records", n)
	}
	gotHead, got, err := history.Read(&file)
	if err != nil || gotHead != head || !reflect.DeepEqual(got, h) {
		t.Errorf("read %+v, %+v, %v", gotHead, got, err)
	}
	for _, bad := range []string{"{}", "{", `{"Op":1}`} {
		if _, _, err := history.Read(strings.NewReader(bad)); err == nil {
			t.Errorf("read %q without an error", bad)
		}
	}
}
