package redistest

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// release is what a redis-server says of itself.
type release struct {
	name    string // to be printed
	version []int  // of the Redis whose commands it has: major, minor, patch
}

// valkey is the last version of Redis that Valkey has all of, whatever its own version.
var valkey = []int{7, 2, 4}

var (
	releasesMu sync.Mutex
	releases   = make(map[string]release) // by path; guarded by releasesMu
)

// AtLeast reports whether the redis-server in PATH has what Redis has from a version on,
// which is written as "7.0" or "7.2.2". It is for facts that differ: what a server lacks is
// for [Needs]. A Valkey counts as Redis 7.2.4, of which it is a fork.
func AtLeast(t testing.TB, version string) bool {
	t.Helper()
	return serverRelease(t).atLeast(t, version)
}

// Needs skips the test if the redis-server in PATH is older than the version of Redis that
// brought a feature. By the version and not by a try, so that a test fails on a server that
// should have it.
func Needs(t testing.TB, version, feature string) {
	t.Helper()
	if r := serverRelease(t); !r.atLeast(t, version) {
		t.Skipf("%s lacks %s: Redis has it from %s on", r.name, feature, version)
	}
}

func (r release) atLeast(t testing.TB, version string) bool {
	t.Helper()
	return slices.Compare(r.version, parseVersion(t, version)) >= 0
}

func parseVersion(t testing.TB, version string) (numbers []int) {
	t.Helper()
	for _, s := range strings.Split(version, ".") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("redistest: %q is no version", version)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

var versionLine = regexp.MustCompile(`^(\w+) server v=(\d+\.\d+\.\d+) `)

func serverRelease(t testing.TB) release {
	t.Helper()
	bin := findServer(t)
	releasesMu.Lock()
	defer releasesMu.Unlock()
	if r, ok := releases[bin]; ok {
		return r
	}
	line, err := exec.Command(bin, "--version").Output()
	m := versionLine.FindStringSubmatch(string(line))
	if err != nil || m == nil {
		t.Fatalf("redistest: %s --version: %q, %v", bin, line, err)
	}
	r := release{name: m[1] + " " + m[2], version: parseVersion(t, m[2])}
	if m[1] == "Valkey" {
		r.version = valkey
	}
	releases[bin] = r
	return r
}
