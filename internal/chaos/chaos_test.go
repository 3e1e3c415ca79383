package chaos_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/chaos"
	"github.com/redlatch/redlatch/internal/leaktest"
)

var (
	soak    = flag.Duration("for", 0, "torment for so long; 0: a few seconds, as one of all tests")
	seed    = flag.Uint64("seed", 0, "of the faults and of the workers' choices; 0: a new one")
	kinds   = flag.String("kinds", "", "of the locks: some of plain, rw and fair, separated by commas; all if empty")
	picture = flag.String("picture", "", "write porcupine's page of the last round to this `file`, seen from the module's root")
	records = flag.String("history", "", "write the last round's history to this `file`, as JSON")
)

func TestMain(m *testing.M) {
	logging.Disable()
	leaktest.Main(m)
}

func TestChaos(t *testing.T) {
	o := chaos.Options{For: *soak, Storm: 8 * time.Second, Seed: *seed, Kinds: *kinds, Picture: fromRoot(*picture), History: fromRoot(*records)}
	if o.For == 0 {
		o.For, o.Storm = 2*time.Second, 2*time.Second
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	enough := int(o.For/time.Second) * 10 // a tenth of what a busy machine does
	report := chaos.Run(t, o)
	if len(report.Found) == 0 && report.Ops["acquire ok"] < enough {
		t.Errorf("seed %d: only %d acquisitions: that shows little", o.Seed, report.Ops["acquire ok"])
	}
}

// fromRoot is for paths given to make: tests run in their package's directory.
func fromRoot(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join("..", "..", path)
}
