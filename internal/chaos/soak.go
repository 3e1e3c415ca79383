package chaos

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/history"
	"github.com/redlatch/redlatch/internal/oracle"
)

// Options say how to torment.
type Options struct {
	For   time.Duration // rounds begin until then
	Storm time.Duration // of one round
	Seed  uint64
	Kinds string // of locks: some of plain, rw and fair, separated by commas; all if empty

	Picture string // file for porcupine's page of the round that was refused, or else of the one with most to see
	History string // file for that round's records
}

// drawn is how many operations a picture shows.
const drawn = 70

// Run torments until the time is over or a round is refused, which fails the test with the
// seed and leaves the round's history and picture in files. It reports as it goes.
func Run(t testing.TB, o Options) *Report {
	t.Helper()
	locks, err := targetsOf(o.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, o.Seed, locks)
	report := newReport(o.Seed)
	t.Logf("chaos: seed %d, %d clients of %d workers, %d locks, lease %v, for %v", o.Seed, len(a.members), workers, len(a.targets), lease, o.For)
	var shown result // what is written to files
	var best oracle.Scene
	for left := o.For; left > 0 && len(report.Found) == 0; left = o.For - time.Since(report.began) {
		last := a.run(report.Rounds, min(o.Storm, max(left, time.Second)))
		report.add(last)
		t.Log(report.line(last))
		scene := oracle.Busiest(last.history, drawn)
		for _, v := range last.found {
			if v.Lock != "" { // from the beginning: only then what is shown is all that counts
				scene = oracle.Scene{Lock: v.Lock, Until: history.Never / 2}
				break
			}
		}
		if len(last.found) > 0 || scene.Worth >= best.Worth {
			shown, best = last, scene
		}
	}
	if len(report.Found) == 0 {
		report.Found = a.closeAll()
	}
	report.hits = a.hits.Load()
	t.Log(report.String())
	for i, v := range report.Found {
		if i == 20 {
			t.Errorf("chaos: and %d more", len(report.Found)-i)
			break
		}
		t.Errorf("chaos: seed %d, round %d: %v", o.Seed, report.Rounds-1, v)
	}
	if len(report.Found) > 0 {
		o.keepFiles()
	}
	o.write(t, shown, best, report.Found)
	return report
}

// keepFiles has the files of a round that was refused kept in any case.
func (o *Options) keepFiles() {
	for file, pattern := range map[*string]string{&o.History: "redlatch-chaos-*.jsonl", &o.Picture: "redlatch-chaos-*.html"} {
		if *file != "" {
			continue
		}
		if f, err := os.CreateTemp("", pattern); err == nil {
			*file = f.Name()
			f.Close()
		}
	}
}

// write writes what was asked for.
func (o *Options) write(t testing.TB, shown result, scene oracle.Scene, found []oracle.Violation) {
	t.Helper()
	if o.History != "" {
		head := history.Head{Seed: o.Seed, Round: shown.round, Note: "passed"}
		if len(found) > 0 {
			head.Note = found[0].String()
		}
		err := toFile(o.History, func(f *os.File) error { return history.Write(f, head, shown.history) })
		t.Logf("chaos: round %d in %s (%v)", shown.round, o.History, orFine(err))
	}
	if o.Picture != "" {
		err := toFile(o.Picture, func(f *os.File) error {
			return oracle.Picture(f, shown.history, scene, shown.highest)
		})
		t.Logf("chaos: round %d, lock %s, %v to %v in %s (%v)", shown.round, scene.Lock, scene.From, min(scene.Until, shown.over), o.Picture, orFine(err))
	}
}

func toFile(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func orFine(err error) string {
	if err != nil {
		return err.Error()
	}
	return "written"
}
