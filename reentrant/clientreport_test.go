package reentrant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/reentrant"
)

// The first report is written as the call for the first lock begins. A second later there is one that has the lock.
func TestTimeFirstReports(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a := v.client(reentrant.WithClientName("billing"))
		must(t, a.NewLock("l").Lock(asHolder(t)))
		v.pass(1100 * time.Millisecond)
		all, err := v.client().Clients(v.ctx)
		if must(t, err); len(all) != 1 || all[0].Held != 1 || len(all[0].Oldest) != 1 {
			t.Errorf("%+v", all)
		}
		must(t, a.NewLock("l").Unlock(asHolder(t)))
	})
}

// A Client with a name reports what it holds, until it closes.
func TestTimeClientReports(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		a := v.client(reentrant.WithClientName("billing"), reentrant.WithPrefix("app:"))
		began := time.Now()
		v.pass(time.Millisecond)
		b := v.client(reentrant.WithClientName("reports"), reentrant.WithPrefix("app:"))
		looker := v.client(reentrant.WithPrefix("app:"))
		granted := time.Now()
		for n, name := range []string{"first", "second"} {
			must(t, a.NewLock(name).Lock(asHolder(t)))
			v.pass(time.Duration(n+1) * time.Second)
		}
		must(t, a.NewReadWriteLock("third").Read().Lock(asHolder(t)))
		must(t, b.NewLock("job").Lock(asHolder(t)))
		must(t, b.NewLock("job").Unlock(asHolder(t)))
		v.pass(20 * time.Second)
		all, err := looker.Clients(v.ctx)
		if must(t, err); len(all) != 2 || !strings.HasPrefix(all[0].Name, "billing@") || !strings.HasPrefix(all[1].Name, "reports@") {
			t.Fatalf("%+v", all)
		}
		r := all[0]
		if r.ID != a.ID() || r.Held != 3 || r.Acquired != 3 || !r.Since.Equal(began) || len(r.Oldest) != 3 {
			t.Fatalf("%+v", r)
		}
		for n, want := range []string{"first", "second", "third"} {
			info, err := looker.Inspect(v.ctx, want)
			must(t, err)
			if h := r.Oldest[n]; h.Name != want || h.Field != info.Holder.Field || h.Since.Sub(granted) != []time.Duration{0, 1, 3}[n]*time.Second {
				t.Errorf("%+v, %v", h, info)
			}
		}
		for _, l := range []*reentrant.Lock{a.NewLock("first"), a.NewLock("second"), a.NewReadWriteLock("third").Read()} {
			must(t, l.Unlock(asHolder(t)))
		}
		must(t, a.Close(v.ctx))
		must(t, b.Close(v.ctx))
		if all, err = looker.Clients(v.ctx); err != nil || len(all) != 0 {
			t.Errorf("after Close: %+v, %v", all, err)
		}
		for _, key := range v.mini.Keys() {
			if strings.HasPrefix(key, "redlatch_client:") {
				t.Errorf("%s is left", key)
			}
		}
	})
}

// Clients that were killed leave the index, and what is no report is left out.
func TestTimeClientReportsOfTheDead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const index = "redlatch_client:{}"
		a := v.client(reentrant.WithClientName("billing"))
		for _, id := range []string{"dead", "forged", "unreadable"} {
			_, err := v.mini.ZAdd(index, float64(time.Now().Add(10*time.Second-time.Hour).UnixMilli()), id)
			must(t, err)
		}
		must(t, v.mini.Set("redlatch_client:{forged}:report", `{"id":"another","name":"x"}`))
		must(t, v.mini.Set("redlatch_client:{unreadable}:report", `{"id":"unreadable","name":"x\u001b[2J"}`))
		must(t, a.NewLock("job").Lock(asHolder(t)))
		v.pass(time.Millisecond)
		all, err := a.Clients(v.ctx)
		if must(t, err); len(all) != 1 || all[0].ID != a.ID() {
			t.Errorf("%+v", all)
		}
		if ids, _ := v.mini.ZMembers(index); len(ids) != 4 {
			t.Errorf("%v", ids)
		}
		v.pass(20 * time.Second)
		if ids, _ := v.mini.ZMembers(index); len(ids) != 1 {
			t.Errorf("an hour after their last report: %v", ids)
		}
		must(t, a.NewLock("job").Unlock(asHolder(t)))
		must(t, a.Close(v.ctx))
	})
}

// The report, the index and the lock are in different slots of a Cluster.
func TestClientReportsInCluster(t *testing.T) {
	t.Parallel()
	s := redistest.StartCluster(t, 3)
	a, looker := newClient(t, s.Client(t), reentrant.WithClientName("billing")), newClient(t, s.Client(t))
	for n := range 100 {
		must(t, a.NewLock(fmt.Sprint("job", n)).Lock(t.Context()))
	}
	redistest.Eventually(t, 10*time.Second, "it is reported", func() bool {
		all, err := looker.Clients(t.Context())
		must(t, err)
		return len(all) == 1 && strings.HasPrefix(all[0].Name, "billing@")
	})
	for n := range 100 {
		must(t, a.NewLock(fmt.Sprint("job", n)).Unlock(t.Context()))
	}
	must(t, a.Close(t.Context()))
	if all, err := looker.Clients(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("after Close: %+v, %v", all, err)
	}
}
