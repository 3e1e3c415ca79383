package docs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// TestSeePermissions finds locks as the user of SECURITY.md, whole and with each of what that needs beyond locks left out.
func TestSeePermissions(t *testing.T) {
	redistest.Needs(t, "7.0", "ACL LOG with subcommands")
	t.Parallel()
	rules, more := readRules(t, "user", "server", "name"), readRules(t, "see")
	server := redistest.Start(t)
	logAll(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, without := range append([]string{""}, more.permissions()...) {
		user := fmt.Sprint("user", i)
		rules.make(t, user, without, server)
		more.make(t, user, without, server)
		c := aclClient(t, server.Client(t, login(user)))
		hold, err := c.NewLock("seen").Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, err := range see(ctx, c) {
			var denied *reentrant.PermissionError
			switch {
			case errors.As(err, &denied) && denied.Rule == without:
				refused++
			case err != nil:
				t.Errorf("without %q: %v", without, err)
			}
		}
		if want := map[bool]int{true: 0, false: 1}[without == ""]; refused != want {
			t.Errorf("without %q %d of the calls are refused", without, refused)
		}
		if err := hold.Release(ctx); err != nil {
			t.Error(err)
		}
		if words := refusals(t, user, server); without == "" && len(words) > 0 {
			t.Errorf("Redis refused %v", words)
		}
	}
}

// see are the errors of what finds locks and Clients.
func see(ctx context.Context, c *reentrant.Client) (errs []error) {
	var scanned error
	for _, err := range c.Locks(ctx, "*") {
		scanned = err
	}
	_, contended := c.Contended(ctx)
	_, clients := c.Clients(ctx)
	return []error{scanned, contended, clients}
}
