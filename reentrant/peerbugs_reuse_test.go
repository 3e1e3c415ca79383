package reentrant_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// A subscriber that has left stays in the list, and the next message panics; a
// handle that is used again closes its channel twice; a handle that is collected
// takes the subscription of the others with it.
func TestLedger_17_SubscribersComeAndGo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := v.client(reentrant.WithLease(time.Hour)).NewLock("job")
		owned := reentrant.WithOwner(v.ctx, "holder")
		c := v.client()
		nothing := func(context.Context) error { return nil }
		for i := range 60 {
			must(t, holder.Lock(owned))
			ctx, leave := context.WithTimeout(v.ctx, time.Duration(i%7)*time.Millisecond)
			quitter := begin(func() error { return c.NewLock("job").Do(ctx, nothing) })
			waiter := begin(func() error { return c.NewLock("job").Do(v.ctx, nothing) })
			runtime.GC()
			v.pass(time.Duration(i%11) * 250 * time.Millisecond) // before, at and after the end of a subscription
			must(t, holder.Unlock(owned))
			must(t, waiter.wait())
			quitter.wait() // with or without the lock
			leave()
			v.pass(time.Duration(i%5) * 400 * time.Millisecond)
		}
		v.pass(time.Minute)
		if n := len(v.mini.PubSubChannels("*")); n != 0 || c.Stats().Subscriptions != 0 {
			t.Fatalf("%d channels left, %+v", n, c.Stats())
		}
	})
}

// A method is there for all to see, and its body is a panic.
func TestLedger_18_EveryMethodWorks(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		arguments := map[reflect.Type]reflect.Value{
			reflect.TypeFor[context.Context]():             reflect.ValueOf(v.ctx),
			reflect.TypeFor[time.Duration]():               reflect.ValueOf(time.Second),
			reflect.TypeFor[string]():                      reflect.ValueOf("job"),
			reflect.TypeFor[func(context.Context) error](): reflect.ValueOf(func(context.Context) error { return nil }),
		}
		callAll := func(value any, except string) {
			v := reflect.ValueOf(value)
			for m, f := range v.Methods() {
				if m.Name == except {
					continue
				}
				var args []reflect.Value
				for i := range f.Type().NumIn() {
					if f.Type().IsVariadic() && i == f.Type().NumIn()-1 {
						break
					}
					arg, ok := arguments[f.Type().In(i)]
					if !ok {
						t.Fatalf("%T.%s wants a %v", value, m.Name, f.Type().In(i))
					}
					args = append(args, arg)
				}
				for _, result := range f.Call(args) {
					if err, ok := result.Interface().(error); ok && !errors.Is(err, reentrant.ErrNotHeld) {
						t.Errorf("%T.%s: %v", value, m.Name, err)
					}
				}
			}
		}
		c := v.client()
		l := c.NewLock("job")
		callAll(l, "ForceUnlock") // after which Lock would tell what it has done
		_, err := l.ForceUnlock(v.ctx)
		must(t, err)
		synctest.Wait()
		h, err := c.NewLock("another").Acquire(v.ctx, reentrant.WithFixedLease(time.Minute)) // Extend is for those
		must(t, err)
		callAll(h, "")
		callAll(c, "Close")
	})
}
