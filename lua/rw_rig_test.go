package lua_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/lua"
)

// rwClient sends the commands of a read-write lock.
type rwClient struct{ *client }

func (r *rig) rw(id string) rwClient {
	c := r.client(id)
	c.keys = lua.RWKeysOf(name, id)
	return rwClient{c}
}

func (c rwClient) reader(who string) string { return lua.ReaderField(c.owner(who)) }
func (c rwClient) writer(who string) string { return lua.WriterField(c.owner(who)) }

// fill gives what a test leaves out a usual value.
func (c rwClient) fill(field string, a lua.RWAcquire) lua.RWAcquire {
	a.Owner, a.Client, a.Order = field, c.id, c.order(a.Order)
	if a.Lease == 0 {
		a.Lease = lease
	}
	return a
}

func (c rwClient) take(t *testing.T, field string, a lua.RWAcquire) lua.Granted {
	t.Helper()
	g, err := c.fill(field, a).Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("acquire %s: %v", field, err)
	}
	return g
}

func (c rwClient) read(t *testing.T, who string) lua.Granted {
	t.Helper()
	return c.take(t, c.reader(who), lua.RWAcquire{})
}

func (c rwClient) write(t *testing.T, who string) lua.Granted {
	t.Helper()
	return c.take(t, c.writer(who), lua.RWAcquire{})
}

// wait registers the client for that field, which it must not get.
func (c rwClient) wait(t *testing.T, field string) lua.Granted {
	t.Helper()
	var a lua.RWAcquire
	a.Register = lease
	g := c.take(t, field, a)
	wantVerdict(t, field+" waits", g.Verdict, lua.Busy)
	return g
}

func (c rwClient) free(t *testing.T, field string, order lua.Order) (lua.Verdict, bool) {
	t.Helper()
	v, set, err := lua.RWRelease{Owner: field, Order: c.order(order), Wake: c.wake}.Run(t.Context(), c.p, &c.keys)
	if err != nil {
		t.Fatalf("release %s: %v", field, err)
	}
	return v, set
}

// wantFreed releases a field that is there.
func (c rwClient) wantFreed(t *testing.T, field string) {
	t.Helper()
	v, _ := c.free(t, field, lua.Order{})
	wantVerdict(t, "release of "+field, v, lua.Done)
}

func (c rwClient) leave(t *testing.T) {
	t.Helper()
	if _, err := (lua.RWLeave{Client: c.id, Order: c.next(), Wake: c.wake}).Run(t.Context(), c.p, &c.keys); err != nil {
		t.Fatalf("leave: %v", err)
	}
}

func (c rwClient) force(t *testing.T, reads bool) bool {
	t.Helper()
	freed, err := lua.RWForce(t.Context(), c.p, &c.keys, c.wake, reads, "")
	if err != nil {
		t.Fatalf("force: %v", err)
	}
	return freed
}

func (c rwClient) renewRead(t *testing.T, field string, lease time.Duration) lua.Renewal {
	t.Helper()
	all, err := lua.Renew(t.Context(), c.p, []lua.FieldOwner{{Lock: c.keys.Lock, Owner: field, Marker: c.keys.Marker(field)}}, lease)
	if err != nil || len(all) != 1 {
		t.Fatalf("renew: %v, %v", all, err)
	}
	return all[0]
}
