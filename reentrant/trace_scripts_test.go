package reentrant_test

import (
	"crypto/sha1"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scriptSources are the scripts by name, put together as lua/scripts.go does.
func scriptSources(t *testing.T) map[string]string {
	composed, err := os.ReadFile("../lua/scripts.go")
	must(t, err)
	sources := make(map[string]string)
	for _, script := range regexp.MustCompile(`(\w+)Script\s+= newScript\((.*)\)`).FindAllStringSubmatch(string(composed), -1) {
		for _, part := range strings.Split(script[2], ", ") {
			part = strings.TrimSuffix(strings.TrimSuffix(part, "Function"), "Source")
			b, err := os.ReadFile("../lua/" + inFileName(part) + ".lua")
			must(t, err)
			sources[script[1]] += string(b) + "\n"
		}
	}
	if len(sources) != 27 {
		t.Fatalf("%d scripts in lua/scripts.go", len(sources))
	}
	return sources
}

// inFileName is a name of the source as a script's file has it: readAcquire is in read_acquire.lua.
func inFileName(name string) string {
	return strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, "_$0"))
}

func sha(source string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(source))) }

// scriptCall is a script with its arguments.
type scriptCall struct {
	name string
	argv []string
}

func ms(s string) time.Duration {
	n, _ := strconv.Atoi(s)
	return time.Duration(n) * time.Millisecond
}

// ordering is where a script has its number and its epoch, -1 if it has none.
func (c scriptCall) ordering() (number, epoch int) {
	switch c.name {
	case "acquire":
		return 2, 3
	case "count", "transfer", "linger":
		return 3, 4
	case "release", "leave":
		return 1, 2
	}
	return c.rwOrdering()
}

// String says what is asked.
func (c scriptCall) String() string {
	a := c.argv
	s := c.rwString()
	add := func(set bool, format string, args ...any) {
		if set {
			s += fmt.Sprintf(format, args...)
		}
	}
	switch c.name {
	case "acquire":
		add(true, " for %s, lease %v", a[0], ms(a[1]))
		if len(a) == 4 {
			break
		}
		add(a[5] != "0", ", registers")
		add(a[6] == "-1", " if it is not registered")
		add(a[6] != "0" && a[6] != "-1", " with its first arrival")
		add(a[7] == "1", ", Redisson has released last")
		add(a[5] != "0" && a[8] == "", " to be woken")
		for _, owner := range a[10:] {
			add(true, ", and what %s may have been granted", owner)
		}
	case "count":
		add(true, " %s of %s", a[1], a[0])
		add(a[2] != "0", ", lease %v", ms(a[2]))
	case "release":
		add(true, " of %s", a[0])
	case "transfer":
		add(true, " from %s to %s, lease %v", a[0], a[1], ms(a[2]))
	case "linger":
		add(true, " of %s, to %s for %v", a[0], a[1], ms(a[2]))
	case "renew":
		for i := 1; i+1 < len(a); i += 2 {
			add(true, " %s", a[i])
			add(a[i+1] != "", " or %s", a[i+1])
		}
		add(true, ", lease %v", ms(a[0]))
	case "leave":
		add(true, " of %s", a[0])
		for _, owner := range a[5:] {
			add(true, ", and takes back what %s may have been granted", owner)
		}
	case "inspect":
		add(true, " for %s", a[0])
	}
	if _, epoch := c.ordering(); epoch > 0 {
		add(a[epoch] != "0", ", voids what was sent before")
	}
	return s
}

// answer says what Redis has answered.
func (c scriptCall) answer(w *words, reply any) string {
	list, ok := reply.([]any)
	if !ok {
		list = []any{reply}
	}
	code, _ := list[0].(int64)
	if _, epoch := c.ordering(); epoch > 0 && code == -1 {
		return "too late, void"
	}
	if text, said := c.rwAnswer(w, list); said {
		return text
	}
	switch c.name {
	case "acquire":
		if code == 1 && len(list) > 1 {
			return "granted, token " + w.token(list[1].(int64))
		}
		if code == 1 {
			return "granted"
		}
		holder := list[2].(string)
		switch holder {
		case "":
			holder = "kept for a Client that was woken"
		case "*":
			holder = "kept for Redisson"
		default:
			holder = "held by " + w.plain(holder)
		}
		return fmt.Sprintf("busy, %s for %s, rank %v", holder, short(time.Duration(list[0+1].(int64))*time.Millisecond), list[4])
	case "transfer":
		if code == 1 {
			token := ""
			if list[1].(int64) != 0 {
				token = ", token " + w.token(list[1].(int64))
			}
			return fmt.Sprintf("done%s, %v other Clients wait, %v of Redisson", token, list[2], list[3])
		}
	case "renew":
		return strings.NewReplacer("[", "", "]", "", "-1", "refused", "1", "renewed", "0", "not held").Replace(fmt.Sprint(list))
	case "inspect":
		if list[0] == int64(-2) {
			return "free"
		}
		return fmt.Sprintf("held by %s for %v, count %v", w.plain(list[2].(string)), time.Duration(code)*time.Millisecond, list[1])
	case "leave":
		return [...]string{"nothing to do", "passed on"}[code]
	case "force":
		return [...]string{"it was free", "freed"}[code]
	}
	return [...]string{"not held", "done"}[code]
}
