package reentrant_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/reentrant"
)

// Errors and events call the holder's Client by its name once that is known, and ask nobody for it.
func TestTimeHolderName(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var waiting, refused []string
		there := v.client(reentrant.WithClientName("billing"))
		here := v.client(reentrant.WithEvents(reentrant.Events{
			Waiting:     func(e reentrant.Event) { waiting = append(waiting, e.HolderName) },
			NotAcquired: func(e reentrant.Event) { refused = append(refused, e.HolderName) },
		}))
		must(t, there.NewLock("a").Lock(v.ctx))
		v.pass(time.Millisecond)
		l := here.NewLock("a").With(reentrant.WithWait(10 * time.Millisecond))
		for _, known := range []bool{false, true} {
			if known {
				info, err := l.Info(v.ctx)
				must(t, err)
				if !strings.HasPrefix(info.Holder.Name, "billing@") {
					t.Fatalf("info is %v", info)
				}
			}
			v.onCommand(func(cmd string, args []string) string {
				if cmd == "GET" && strings.HasPrefix(args[0], "redlatch_client:") {
					t.Error("asked for the name")
				}
				return ""
			})
			var why *reentrant.NotAcquiredError
			if err := l.Lock(v.ctx); !errors.As(err, &why) || strings.HasPrefix(why.HolderName, "billing@") != known ||
				strings.Contains(err.Error(), "(billing@") != known {
				t.Errorf("known %v: error is %v", known, err)
			}
			v.onCommand(nil)
		}
		for _, names := range [][]string{waiting, refused} {
			if len(names) != 2 || names[0] != "" || !strings.HasPrefix(names[1], "billing@") {
				t.Errorf("events say %q", names)
			}
		}
		must(t, there.NewLock("a").Unlock(v.ctx))
	})
}
