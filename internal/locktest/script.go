package locktest

import (
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/internal/faultproxy"
)

// ScriptOf tells which of the library's scripts a request runs, by its keys and arguments: the
// sources are no public matter. It is "" for any other request.
func ScriptOf(args []string) string {
	if !faultproxy.Named("EVALSHA", "EVAL")(args) || len(args) < 4 {
		return ""
	}
	var n int
	if _, err := fmt.Sscan(args[2], &n); err != nil || len(args) < 3+n {
		return ""
	}
	keys, argv := args[3:3+n], args[3+n:]
	second, third := "", ""
	if n > 1 {
		second, _, _ = strings.Cut(keys[1], ":")
	}
	if n > 2 {
		third, _, _ = strings.Cut(keys[2], ":")
	}
	wakes := false
	for _, a := range argv {
		wakes = wakes || strings.HasPrefix(a, "PUBLISH ")
	}
	if name := kindScriptOf(keys, argv, second, third); name != "" {
		return name
	}
	switch {
	case second == "redlatch_waiters":
		return "report"
	case second == "redlatch_epoch" && n == 2:
		return "count"
	case second == "redlatch_epoch" && third == "redlatch_waiters" && strings.Contains(argv[1], ":=released:"):
		return "linger"
	case second == "redlatch_epoch" && third == "redlatch_waiters":
		return "transfer"
	case second == "redlatch_epoch" && wakes && !strings.Contains(argv[0], ":"): // a Client's ID, and no owner's field
		return "leave"
	case second == "redlatch_epoch" && wakes:
		return "release"
	case second == "redlatch_epoch":
		return "acquire"
	case second == "redlatch_turn":
		return "force"
	case len(argv) == 2*n+1:
		return "renew"
	default:
		return "inspect"
	}
}

// kindScriptOf is ScriptOf for the scripts of read-write and fair locks, where they are not like those of a plain lock.
func kindScriptOf(keys, argv []string, second, third string) string {
	marker := func(i int) bool { return len(keys) > i && strings.Contains(keys[i], ":rwlock_timeout:") }
	switch {
	case marker(0) && len(argv) == len(keys)/2+1:
		return "renew"
	case len(keys) == 3 && marker(2):
		return "count"
	case second == "redlatch_epoch" && third == "redlatch_turn" && len(argv) == 12 && marker(6):
		return "join"
	case second == "redisson_lock_queue":
		return "force"
	case third != "redisson_lock_queue":
		return ""
	case len(keys) == 3:
		return "linger"
	case !strings.Contains(argv[0], ":") && strings.HasPrefix(argv[2], "redisson_"):
		return "leave"
	case !strings.Contains(argv[0], ":"):
		return "line"
	case len(argv) == 9:
		return "acquire"
	case len(argv) == 5:
		return "release"
	default:
		return "transfer"
	}
}
