package redistest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// What a server lacks is skipped on the versions before it, and on no other.
func TestNeeds(t *testing.T) {
	if os.Getenv("REDISTEST_CHILD") == "1" {
		redistest.Needs(t, "7.0", "sharded pub/sub")
		t.Fatal("goes on; 7.2.2:", redistest.AtLeast(t, "7.2.2"))
	}
	t.Parallel()
	for says, want := range map[string]string{
		"Redis server v=5.0.14 sha=0:0 malloc=libc bits=64 build=0":  "Redis 5.0.14 lacks sharded pub/sub: Redis has it from 7.0 on",
		"Redis server v=6.2.16 sha=0:0 malloc=libc bits=64 build=0":  "Redis 6.2.16 lacks sharded pub/sub: Redis has it from 7.0 on",
		"Redis server v=7.0.15 sha=0:0 malloc=libc bits=64 build=0":  "goes on; 7.2.2: false",
		"Redis server v=7.0.0 sha=0:0 malloc=libc bits=64 build=0":   "goes on; 7.2.2: false",
		"Redis server v=7.2.1 sha=0:0 malloc=libc bits=64 build=0":   "goes on; 7.2.2: false",
		"Redis server v=7.2.2 sha=0:0 malloc=libc bits=64 build=0":   "goes on; 7.2.2: true",
		"Redis server v=10.0.0 sha=0:0 malloc=libc bits=64 build=0":  "goes on; 7.2.2: true",
		"Redis server v=7.9.224 sha=0:0 malloc=libc bits=64 build=0": "goes on; 7.2.2: true",
		"Valkey server v=8.0.1 sha=0:0 malloc=libc bits=64 build=0":  "goes on; 7.2.2: true",
		"Hello": "is-no-server --version",
	} {
		dir := filepath.Join(t.TempDir(), "is-no-server")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", says)
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		out := runSelf(t, "TestNeeds", "REDISTEST_CHILD=1", "REDLATCH_REQUIRE_REDIS=1", "PATH="+dir)
		want = strings.Replace(want, "is-no-server", "is-no-server/redis-server", 1)
		if skips := strings.Contains(out, "--- SKIP"); skips != strings.Contains(want, "lacks") || !strings.Contains(out, want) {
			t.Errorf("%s\n\twant %q:\n%s", says, want, out)
		}
	}
}
