//go:build torture

package torture

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlatch/redlatch/internal/leaktest"
	"github.com/redlatch/redlatch/internal/oracle"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/worker"
	"github.com/redlatch/redlatch/reentrant"
)

func TestMain(m *testing.M) {
	worker.Main()
	logging.Disable()
	leaktest.Main(m)
}

// patience is for the end, when nothing is in the way any more.
const patience = 60 * time.Second

func newClient(t *testing.T, s *redistest.Server, opts ...reentrant.Option) *reentrant.Client {
	t.Helper()
	c, err := reentrant.New(s.Client(t), opts...)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, c.Close(ctx))
	})
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// accept fails the test for what an oracle found.
func accept(t *testing.T, found []oracle.Violation) {
	t.Helper()
	for i, v := range found {
		if i == 20 {
			t.Errorf("and %d more", len(found)-i)
			return
		}
		t.Errorf("%v", v)
	}
}

// tidy checks what is left on a server when all are done.
func tidy(t *testing.T, s *redistest.Server, locks ...string) {
	t.Helper()
	redistest.Eventually(t, patience, "locks and channels are gone", func() bool {
		keys, err := oracle.Keys(t.Context(), s.Admin(), locks...)
		must(t, err)
		channels, err := oracle.Channels(t.Context(), s.Admin())
		must(t, err)
		return len(keys)+len(channels) == 0
	})
}
