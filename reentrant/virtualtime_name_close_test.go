package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// SIGTERM has ended the ctx of Close: the name goes all the same, before Close returns, and also if it is being written at
// that moment.
func TestTimeClientNameGoesWithAnEndedCtx(t *testing.T) {
	const wire = 10 * time.Millisecond
	for what, wait := range map[string]time.Duration{"written": time.Second, "being written": 0} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				c := v.client(reentrant.WithClientName("billing"))
				v.onCommand(func(cmd string, _ []string) string {
					if cmd == "SET" || cmd == "DEL" {
						time.Sleep(wire)
					}
					return ""
				})
				must(t, c.NewLock("job").Do(asHolder(t), doNothing))
				v.pass(wait)
				over, cancel := context.WithCancel(v.ctx)
				cancel()
				began := time.Now()
				_ = c.Close(over)
				if took := time.Since(began); took > 4*wire { // the name and the report, each written and deleted
					t.Errorf("Close took %v", took)
				}
				if keys := v.mini.Keys(); len(keys) != 0 {
					t.Errorf("left: %v", keys)
				}
			})
		})
	}
}

// A Redis that is silent costs Close its second, and not more.
func TestTimeClientNameDoesNotHoldUpClose(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		c := v.client(reentrant.WithClientName("billing"))
		must(t, c.NewLock("job").Do(asHolder(t), doNothing))
		v.pass(time.Second)
		v.onCommand(func(cmd string, _ []string) string {
			if cmd == "DEL" {
				time.Sleep(time.Minute)
			}
			return ""
		})
		over, cancel := context.WithCancel(v.ctx)
		cancel()
		began := time.Now()
		_ = c.Close(over)
		if took := time.Since(began); took > time.Second+10*time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		v.pass(time.Minute) // what is left of the command
	})
}
