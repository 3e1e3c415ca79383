package reentrant_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// reads checks an error's text against a pattern of the whole of it.
func reads(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !regexp.MustCompile("^"+want+"$").MatchString(err.Error()) {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

// Who reads the text of an error learns what to do.
func TestTimeErrorTexts(t *testing.T) {
	const field = `[0-9a-f-]{36}:\S+`
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c, d := v.client(), v.client()
		l := c.NewLock("l")
		must(t, l.Lock(v.ctx))
		elsewhere(func() {
			_, err := d.NewLock("l").Acquire(v.ctx, reentrant.WithWait(0))
			reads(t, err, `redlatch: lock "l" is busy: held by `+c.ID()+`:\d+`)
			_, err = l.Acquire(v.ctx, reentrant.WithWait(0))
			reads(t, err, `redlatch: lock "l" is busy: held by `+field+` \(goroutine \d+ of this Client\)`)
			_, err = l.Acquire(v.ctx, reentrant.WithWait(lease))
			reads(t, err, `redlatch: lock "l" is busy after 1s: held by `+field+` \(goroutine \d+ of this Client\)`)
			reads(t, l.Unlock(v.ctx), `redlatch: lock "l" is not held by `+field+`, but by goroutine \d+ of this program: unlock on the `+
				`goroutine that locked, or give both calls a ctx with one owner \(WithNewOwner\), or release a Hold \(Acquire\)`)
		})
		must(t, l.Unlock(v.ctx))
		reads(t, l.Unlock(v.ctx), `redlatch: lock "l" is not held by `+field)

		ctx := reentrant.WithOwner(v.ctx, "42")
		must(t, l.Lock(ctx))
		_, err := l.Acquire(v.ctx, reentrant.WithWait(0))
		reads(t, err, `redlatch: lock "l" is busy: held by `+c.ID()+`:=42 \(owner "42" of this Client\)`)
		must(t, l.Unlock(ctx))

		v.refuseAll("NOPERM no")
		_, err = l.Acquire(v.ctx, reentrant.WithWait(0))
		reads(t, err, `redlatch: lock "l" not acquired after 0s: .*NOPERM no`)
	})
}

// What is not a lock is called what it is, as far as Redis says so, by every method.
func TestTimeForeignKeyIsNamed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		must(t, v.mini.Set("string", "x"))
		_, err := v.mini.Push("list", "x")
		must(t, err)
		_, err = v.mini.ZAdd("redlatch_turn:{lock}", 1, "x")
		must(t, err)
		c := v.client()
		calls := map[string]func(l *reentrant.Lock) error{
			"Lock":        func(l *reentrant.Lock) error { return l.Lock(v.ctx) },
			"IsLocked":    func(l *reentrant.Lock) error { _, err := l.IsLocked(v.ctx); return err },
			"ForceUnlock": func(l *reentrant.Lock) error { _, err := l.ForceUnlock(v.ctx); return err },
		}
		for name, want := range map[string]string{
			"string": "its key holds a string: another lock library's\\?",
			"list":   "its key holds a list, and not a lock",
		} {
			for how, call := range calls {
				err := call(c.NewLock(name))
				var foreign *reentrant.ForeignKeyError
				if !errors.Is(err, reentrant.ErrForeignKey) || !errors.As(err, &foreign) || foreign.Type != name {
					t.Errorf("%s: error is %v", how, err)
				}
				text := `redlatch: lock "` + name + `": ` + want
				if how == "Lock" {
					text = `redlatch: lock "` + name + `" not acquired after 0s: ` + want
				}
				reads(t, err, text)
			}
		}
		reads(t, c.NewLock("lock").Lock(v.ctx), `redlatch: lock "lock" not acquired after 0s: one of its keys is not a lock's: .*WRONGTYPE.*`)

		// A user who may not ask gets an answer all the same, and in the same time.
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "TYPE" {
				return "NOPERM this user has no permissions to run the 'type' command"
			}
			return ""
		})
		began := time.Now()
		reads(t, c.NewLock("string").Lock(v.ctx), `.*its key holds something that is not a lock`)
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}
